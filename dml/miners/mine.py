"""A miner from one positive and one negative policy; the negative is chosen given the anchor and its positive.

An anchor without a positive or without an admissible negative yields no tuple; `stats` counts such anchors. Distances
are computed from detached embeddings in float32 or float64 (see `MinerBatch`), under autocast too. The CUDA setting for
TF32 applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch, UniformNumbers
from dml.protocols import NegativePolicy, PositivePolicy
from dml.settings import Shown, check_at_least, check_choice
from dml.tensors import check_mask, checked_labels
from dml.types import Pairs, Tuples

DISTANCES = ("euclidean", "squared")


class PolicyMiner(Shown):
    """Chooses tuples in a batch: `mine(embeddings, labels, generator=g)`.

    Parameters
    ----------
    positives, negatives : the two policies (`dml.miners.build` finds them by name).
    normalize : L2-normalise embeddings first.
    distance : `euclidean` or `squared`, the distance that semi-hard policies compare with their margin.
    padded : return results of a static shape, without host-device synchronisation (see `__call__`).
    max_per_class : the size M of the largest class that a batch can contain; used only with `padded`, by policies that
        keep several positives. Results then have N (M - 1) rows. Anchors of a larger class use their first M - 1
        positives, and `stats["cut_positives"]` counts the others. None: M is read from labels on the CPU; for labels
        on another device M is N, which is correct but gives N (N - 1) rows.

    Attributes
    ----------
    stats : of the last call, 0-d int64 tensors on the embeddings' device: `tuples` (number of triples),
        `dropped_anchors` (anchors without a triple), `cut_positives` (ordered positive pairs beyond `max_per_class`).
    """

    version: ClassVar[int] = 1

    def __init__(
        self,
        positives: PositivePolicy,
        negatives: NegativePolicy,
        *,
        normalize: bool = True,
        distance: Literal["euclidean", "squared"] = "euclidean",
        padded: bool = False,
        max_per_class: int | None = None,
    ) -> None:
        check_choice("distance", distance, DISTANCES)
        if max_per_class is not None:
            check_at_least("max_per_class", max_per_class, 1)
        self.positives, self.negatives = positives, negatives
        self.normalize, self.distance, self.padded, self.max_per_class = normalize, distance, padded, max_per_class
        self.stats: Mapping[str, Tensor] = {}

    @torch.no_grad()
    def __call__(
        self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None, kept: Tensor | None = None
    ) -> Tuples | Pairs:
        """Choose tuples of embeddings (N, D), any floating type, with labels integers (N,), compared as int64.

        Parameters
        ----------
        generator : source of random numbers, drawn on its own device. None: torch's default one of the embeddings'
            device.
        kept : bool (N,), the samples that take part; the others are in no tuple. None: all.

        Returns
        -------
        Tuples : int64 (T,) triples, sorted by anchor, then by positive. With `padded` and a policy that chooses one
            negative for each positive: one row for each anchor and each column of its positives (N rows, or N (M - 1)
            if the policy keeps several positives), -1 in all three columns of a row without a triple.
        Pairs : with `padded` and a policy that keeps a set of negatives, the same for all of an anchor's positives, so
            the triples are every (a, p, n) with `positives[a, p]` and `negatives[a, n]`. Rows of dropped anchors are
            empty. A loss over pairs uses each pair once, although it is part of many triples.

        Raises ValueError: embeddings are not float (N, D), labels not integers (N,), or `kept` not bool (N,).
        """
        labels = checked_labels(embeddings, labels)
        if kept is not None:
            check_mask("kept", kept, len(labels))
        with torch.autocast(embeddings.device.type, enabled=False):
            if len(embeddings) == 0:
                self.stats = dict.fromkeys(("tuples", "dropped_anchors", "cut_positives"), labels.sum())
                return Tuples(labels, labels, labels)
            batch = MinerBatch(
                embeddings,
                labels,
                normalize=self.normalize,
                squared=self.distance == "squared",
                width=self._width(labels),
                kept=kept,
            )
            draw = UniformNumbers(generator, embeddings.device)
            positives = self.positives(batch, draw)
            negatives = self.negatives(batch, positives, draw)
            one_each = negatives.dtype != torch.bool
            valid = (positives >= 0) & (negatives >= 0 if one_each else negatives.any(dim=1, keepdim=True))
            dropped = ~valid.any(dim=1)
            self.stats = {
                "tuples": valid.sum() if one_each else (valid.sum(1) * negatives.sum(1)).sum(),
                "dropped_anchors": (dropped if kept is None else dropped & kept).sum(),
                "cut_positives": (batch.count - 1 - batch.mates.shape[1]).clamp_min(0).sum(),
            }
            if not self.padded:
                return _compact(positives, negatives, valid)
            return _padded(positives, negatives, valid) if one_each else _pairs(positives, negatives, valid)

    def _width(self, labels: Tensor) -> int:
        """Columns for positives: the size of the largest class minus one, at least one."""
        size = len(labels)
        if self.padded and self.max_per_class is not None:
            largest = min(self.max_per_class, size)
        elif self.padded and labels.device.type != "cpu":
            largest = size
        else:
            largest = int(torch.unique(labels, return_counts=True)[1].max())
        return max(largest - 1, 1)


def _compact(positives: Tensor, negatives: Tensor, valid: Tensor) -> Tuples:
    """Only valid triples; their number depends on the data, so this synchronises on a GPU."""
    anchors, place = valid.nonzero(as_tuple=True)
    kept = positives[anchors, place]
    if negatives.dtype != torch.bool:
        return Tuples(anchors, kept, negatives[anchors, place])
    pair, chosen = negatives[anchors].nonzero(as_tuple=True)
    return Tuples(anchors[pair], kept[pair], chosen)


def _padded(positives: Tensor, negatives: Tensor, valid: Tensor) -> Tuples:
    """A row for each anchor and each column of its positives, -1 without a triple."""
    anchors = torch.arange(len(valid), device=valid.device)[:, None].expand_as(valid)
    return Tuples(*(column.masked_fill(~valid, -1).flatten() for column in (anchors, positives, negatives)))


def _pairs(positives: Tensor, negatives: Tensor, valid: Tensor) -> Pairs:
    """Dense masks of the pairs. Empty columns are written to the diagonal, which is cleared afterwards."""
    diagonal = torch.arange(len(valid), device=valid.device)[:, None]
    columns = torch.where(valid, positives, diagonal)
    kept = torch.zeros_like(negatives).scatter_(1, columns, True).fill_diagonal_(False)
    return Pairs(kept, negatives & valid.any(dim=1, keepdim=True))
