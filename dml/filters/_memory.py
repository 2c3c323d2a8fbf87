"""A memory of the latest samples, with the mean of each class in it.

A ring of fixed size: a batch's kept samples replace the oldest ones. Nothing has a shape that depends on the data, so
nothing waits for the device. A sample that is not kept is written to a row beyond the ring, which nothing reads.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

ALL = slice(None)


class ClassMemory(nn.Module):
    """The latest samples, and the sum and number of each class's.

    Of a batch with more kept samples than entries, only the last are remembered. Sums are in float64, so that adding
    and removing samples for millions of steps leaves no error.

    Parameters
    ----------
    classes : K; labels are 0 .. K - 1.
    size : D, of the embeddings.
    entries : M, samples that the memory holds.

    Attributes
    ----------
    sums : float64 (K, D). counts : int64 (K,), 0 for a class that the memory does not hold.
    """

    rows: Tensor
    labels: Tensor
    sums: Tensor
    counts: Tensor
    written: Tensor

    def __init__(self, classes: int, size: int, entries: int):
        super().__init__()
        self.entries = entries
        self.register_buffer("rows", torch.zeros(entries + 1, size))
        self.register_buffer("labels", torch.full((entries + 1,), -1, dtype=torch.int64))
        self.register_buffer("sums", torch.zeros(classes, size, dtype=torch.float64))
        self.register_buffer("counts", torch.zeros(classes, dtype=torch.int64))
        self.register_buffer("written", torch.zeros((), dtype=torch.int64))  # samples so far

    def add(self, embeddings: Tensor, labels: Tensor, kept: Tensor) -> Tensor:
        """Remember a batch's kept samples.

        Parameters
        ----------
        embeddings : float32 (N, D). labels : int64 (N,). kept : bool (N,).

        Returns
        -------
        int64 (2 N,) : the classes whose sums may have changed, some of them several times.
        """
        kept = kept & (kept.flip(0).cumsum(0).flip(0) <= self.entries)
        place = (self.written + kept.cumsum(0) - 1) % self.entries
        place = torch.where(kept, place, self.entries)
        removed = torch.where(kept, self.labels[place], -1)
        gone, came = (removed >= 0).to(torch.int64), kept.to(torch.int64)
        old = torch.where(removed[:, None] >= 0, self.rows[place], 0.0)
        new = torch.where(kept[:, None], embeddings, 0.0)
        removed = removed.clamp_min(0)
        self.sums.index_add_(0, removed, old.double(), alpha=-1).index_add_(0, labels, new.double())
        self.counts.index_add_(0, removed, gone, alpha=-1).index_add_(0, labels, came)
        self.rows[place] = embeddings  # several rows may go beyond the ring: any of them stays there
        self.labels[place] = labels
        self.written += came.sum()
        return torch.cat((removed, labels))

    def means(self, classes: Tensor | slice = ALL) -> Tensor:
        """float64 (n, D), the means of classes int64 (n,), or of all K; 0 for a class that the memory does not hold."""
        counts = self.counts[classes][:, None]
        return torch.where(counts > 0, self.sums[classes] / counts.clamp_min(1), 0.0)
