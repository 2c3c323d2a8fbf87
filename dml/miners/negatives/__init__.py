"""Negative policies: which samples of other classes become an anchor's negatives. One policy a file."""

from dml import discovery

__getattr__, __dir__ = discovery.lazy(__name__)
