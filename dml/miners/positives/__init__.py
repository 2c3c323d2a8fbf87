"""Positive policies: which class mates of an anchor become its positives. One policy a file."""

from dml import discovery
from dml.miners.positives._build import build

__all__ = ["build"]

__getattr__, __dir__ = discovery.lazy(__name__)
