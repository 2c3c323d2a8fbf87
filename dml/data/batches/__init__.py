"""Batches: which positions of the training labels make up each batch. A sampler is one file here.

A sampler is an endless iterator of int64 (B,) positions, B = classes x per_class. A batch is a pure function of the
labels, the settings, the seed and the batch's number, so the sampler's state is that number: resuming within an epoch
is exact, and memory does not grow. Labels are the observed (noisy) ones; positions with label -1 are never drawn.
"""

from __future__ import annotations

from dml import discovery
from dml.data.batches._build import build, find

__all__ = ["build", "find"]

__getattr__, __dir__ = discovery.lazy(__name__)
