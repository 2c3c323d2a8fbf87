"""Filters: which samples of a batch take part in training. `build("prism", rate=0.2, ...)` makes one.

A filter sees a batch's embeddings and observed labels, never clean ones, and returns a mask. Samples that it leaves out
are in no tuple, in no memory, and no proxy learns from them. It has a state of its own, which a checkpoint contains.
"""

from __future__ import annotations

from dml import discovery
from dml.filters._build import build, build_for

__all__ = ["build", "build_for"]

__getattr__, __dir__ = discovery.lazy(__name__)
