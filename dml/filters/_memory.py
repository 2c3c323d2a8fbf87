"""A memory of the latest samples (`dml.tensors.Ring`), with the mean of each class in it."""

from __future__ import annotations

import torch
from torch import Tensor

from dml.tensors import Ring

ALL = slice(None)


class ClassMemory(Ring):
    """The latest samples, and the sum and number of each class's.

    Sums are in float64, so that adding and removing samples for millions of steps leaves no error.

    Parameters
    ----------
    classes : K; labels are 0 .. K - 1.
    size : D, of the embeddings.
    entries : M, samples that the memory holds.

    Attributes
    ----------
    sums : float64 (K, D). counts : int64 (K,), 0 for a class that the memory does not hold.
    """

    sums: Tensor
    counts: Tensor

    def __init__(self, classes: int, size: int, entries: int):
        super().__init__(entries, size)
        self.register_buffer("sums", torch.zeros(classes, size, dtype=torch.float64))
        self.register_buffer("counts", torch.zeros(classes, dtype=torch.int64))

    def add(self, embeddings: Tensor, labels: Tensor, kept: Tensor) -> Tensor:
        """Remember a batch's kept samples.

        Parameters
        ----------
        embeddings : float32 (N, D). labels : int64 (N,). kept : bool (N,).

        Returns
        -------
        int64 (2 N,) : the classes whose sums may have changed, some of them several times.
        """
        place, kept = self.places(kept)
        removed = torch.where(kept, self.labels[place], -1)
        gone, came = (removed >= 0).to(torch.int64), kept.to(torch.int64)
        old = torch.where(removed[:, None] >= 0, self.rows[place], 0.0)
        new = torch.where(kept[:, None], embeddings, 0.0)
        removed = removed.clamp_min(0)
        self.sums.index_add_(0, removed, old.double(), alpha=-1).index_add_(0, labels, new.double())
        self.counts.index_add_(0, removed, gone, alpha=-1).index_add_(0, labels, came)
        self.put(place, kept, embeddings, labels)
        return torch.cat((removed, labels))

    def means(self, classes: Tensor | slice = ALL) -> Tensor:
        """float64 (n, D), the means of classes int64 (n,), or of all K; 0 for a class that the memory does not hold."""
        counts = self.counts[classes][:, None]
        return torch.where(counts > 0, self.sums[classes] / counts.clamp_min(1), 0.0)
