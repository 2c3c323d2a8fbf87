"""A miner: one positive policy and one negative policy, the negative chosen given the anchor and the positive.

An anchor with no positive, or with no admissible negative, yields no tuple; how many did is in `last`. Distances are
those of the detached embeddings, in float32 (float64 where given) under autocast too; CUDA's TF32 is left as the user
set it.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from dml.miners._batch import Batch, Draw, NegativePolicy, PositivePolicy, move
from dml.types import Pairs, Tuples

DISTANCES = ("euclidean", "squared")


class PolicyMiner:
    """Chooses tuples of a batch; call it as `mine(embeddings, labels, generator=g)`.

    Parameters
    ----------
    positives, negatives : the two policies (`dml.miners.build` makes them from their names).
    normalize : L2-normalise embeddings first.
    distance : `euclidean` or `squared`: what semi-hard rules compare with their margin.
    padded : give results of a static shape, without host-device synchronisation (see `__call__`).
    max_per_class : with `padded` and a policy that keeps several positives, the largest class size M that a batch can
        have (of P classes x M samples: M): results then have N (M - 1) rows. Anchors of a larger class use the first
        M - 1 of their positives, and `last["cut_positives"]` counts those left out. None: the batch's own M where the
        labels are on the CPU, and N elsewhere, since only the device knows it: right, but N (N - 1) rows.

    Attributes
    ----------
    last : of the last call, 0-d int64 tensors on the embeddings' device: `tuples` (triples), `dropped_anchors` (without
        a triple), `cut_positives` (ordered positive pairs beyond `max_per_class`).
    """

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
        if distance not in DISTANCES:
            raise ValueError(f"distance: unknown value {distance!r}. Choices: {', '.join(DISTANCES)}")
        if max_per_class is not None and max_per_class < 1:
            raise ValueError(f"max_per_class: expected a number from 1 up, or None, got {max_per_class!r}")
        self.positives, self.negatives = positives, negatives
        self.normalize, self.distance, self.padded, self.max_per_class = normalize, distance, padded, max_per_class
        self.last: dict[str, Tensor] = {}

    def __repr__(self) -> str:
        policies = f"{type(self.positives).__name__}, {type(self.negatives).__name__}"
        return f"{type(self).__name__}({policies}, distance={self.distance!r}, padded={self.padded})"

    @torch.no_grad()
    def __call__(self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None) -> Tuples | Pairs:
        """Choose tuples.

        Parameters
        ----------
        embeddings : (N, D), any floating type.
        labels : integers (N,), compared as int64.
        generator : the random numbers, drawn on its device; None: torch's default one of the embeddings' device.

        Returns
        -------
        Tuples : int64 (T,) triples, by anchor, then positive. With `padded` and a policy that chooses one negative for
            each positive: rows for all anchors and places of positives (N, or N (M - 1) where several positives are
            kept), -1 in all three where there is no triple.
        Pairs : with `padded` and a policy that keeps a set of negatives (`all`, `multi_similarity`): these sets do not
            depend on which of the anchor's positives is meant, so the triples are exactly every (a, p, n) with
            `positives[a, p]` and `negatives[a, n]`; rows of dropped anchors are empty. A loss over pairs uses each pair
            once, though it is part of many triples.

        Raises
        ------
        ValueError : embeddings are not (N, D) of a floating type, or labels not integers (N,).
        """
        _check(embeddings, labels)
        labels = move(labels, embeddings.device).long()
        with torch.autocast(embeddings.device.type, enabled=False):
            if len(embeddings) == 0:
                return self._empty(labels)
            batch = Batch(
                embeddings,
                labels,
                normalize=self.normalize,
                squared=self.distance == "squared",
                width=self._width(labels),
            )
            draw = Draw(generator, embeddings.device)
            positives = self.positives(batch, draw)
            negatives = self.negatives(batch, positives, draw)
            one_each = negatives.dtype != torch.bool
            valid = positives >= 0
            valid = valid & (negatives >= 0 if one_each else negatives.any(dim=1, keepdim=True))
            triples = valid.sum() if one_each else (valid.sum(1) * negatives.sum(1)).sum()
            self.last = {
                "tuples": triples,
                "dropped_anchors": (~valid.any(dim=1)).sum(),
                "cut_positives": (batch.count - 1 - batch.mates.shape[1]).clamp_min(0).sum(),
            }
            if not self.padded:
                return _compact(positives, negatives, valid)
            return _padded(positives, negatives, valid) if one_each else _pairs(positives, negatives, valid)

    def _width(self, labels: Tensor) -> int:
        """Places for positives: the largest class less one, and at least one."""
        size = len(labels)
        if self.padded and self.max_per_class is not None:
            largest = min(self.max_per_class, size)
        elif self.padded and labels.device.type != "cpu":
            largest = size
        else:
            largest = int(torch.unique(labels, return_counts=True)[1].max())
        return max(largest - 1, 1)

    def _empty(self, labels: Tensor) -> Tuples | Pairs:
        zero = labels.sum()
        self.last = dict.fromkeys(("tuples", "dropped_anchors", "cut_positives"), zero)
        return Tuples(labels, labels, labels)


def _check(embeddings: Tensor, labels: Tensor) -> None:
    if embeddings.ndim != 2 or not embeddings.is_floating_point():
        raise ValueError(
            f"embeddings: expected (N, D) of a floating type, got {tuple(embeddings.shape)} {embeddings.dtype}"
        )
    if labels.shape != embeddings.shape[:1] or labels.is_floating_point() or labels.is_complex():
        raise ValueError(f"labels: expected integers ({len(embeddings)},), got {tuple(labels.shape)} {labels.dtype}")


def _compact(positives: Tensor, negatives: Tensor, valid: Tensor) -> Tuples:
    """The triples that there are; as many numbers as they need, and a synchronisation on a GPU."""
    anchors, place = valid.nonzero(as_tuple=True)
    kept = positives[anchors, place]
    if negatives.dtype != torch.bool:
        return Tuples(anchors, kept, negatives[anchors, place])
    pair, chosen = negatives[anchors].nonzero(as_tuple=True)
    return Tuples(anchors[pair], kept[pair], chosen)


def _padded(positives: Tensor, negatives: Tensor, valid: Tensor) -> Tuples:
    """A row for each anchor and place, -1 where there is no triple."""
    anchors = torch.arange(len(valid), device=valid.device)[:, None].expand_as(valid)
    return Tuples(*(column.masked_fill(~valid, -1).flatten() for column in (anchors, positives, negatives)))


def _pairs(positives: Tensor, negatives: Tensor, valid: Tensor) -> Pairs:
    """Dense masks of the pairs; what is no pair is written to the diagonal, which is cleared."""
    own = torch.arange(len(valid), device=valid.device)[:, None]
    columns = torch.where(valid, positives, own)
    kept = torch.zeros_like(negatives).scatter_(1, columns, True).fill_diagonal_(False)
    return Pairs(kept, negatives & valid.any(dim=1, keepdim=True))
