"""Positive policies: which class mates of an anchor become its positives. One policy a file."""

from dml import discovery

__getattr__, __dir__ = discovery.lazy(__name__)
