"""Negative policies: which samples of other classes become an anchor's negatives. One policy a file."""

from dml import discovery
from dml.miners.negatives._build import build

__all__ = ["build"]

__getattr__, __dir__ = discovery.lazy(__name__)
