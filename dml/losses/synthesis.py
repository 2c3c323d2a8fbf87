"""The hardest negatives between pairs of positives: d_ijkl for pairs (i, j) and (k, l) of different classes.

- `loop`: the least distance between the geodesics i -> j and k -> l (Vasudeva et al., ICCV 2021, sections 3.1-3.3).
- `loop_linear`: the same between segments, for embeddings that are not normalised (section 4.2).
- `embedding_expansion`: the least distance between the ends of each pair and `points` points interpolated evenly
  between them, normalised where the embeddings are (Ko & Gu, "Embedding expansion: augmentation in embedding space for
  deep metric learning", CVPR 2020).

Pairs are formed of alternate samples of a class, in the order of the batch: its 1st with its 2nd, its 3rd with its 4th.
A class's last sample is left out where its number is odd (the papers ask for even numbers), and so is a class with one
sample. Shapes depend on N alone (N // 2 rows and a mask), so that nothing waits for the device; memory is O(N^2), times
`(points + 2)^2 / 4` for embedding expansion.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dml.losses import geodesic

SYNTHESES = ("none", "loop", "loop_linear", "embedding_expansion")


class PositivePairs(NamedTuple):
    """Pairs of alternate samples of a class, P = N // 2 rows."""

    first: Tensor  # int64 (P,), a position in the batch
    second: Tensor  # int64 (P,)
    valid: Tensor  # bool (P,); the positions of a row that is not are within the batch and mean nothing


class Hardest(NamedTuple):
    """The hardest negatives between the pairs of a batch."""

    pairs: PositivePairs
    positive: Tensor  # (P,), d_ij: the distance within each pair
    negative: Tensor  # (P, P), d_ijkl; symmetric; finite and meaningless where `mask` is False
    mask: Tensor  # bool (P, P): both pairs are valid and of different classes


def check(synthesis: str, points: int, normalize: bool) -> None:
    """Raise a ValueError unless a loss can have these settings."""
    if synthesis not in SYNTHESES:
        raise ValueError(f"synthesis: expected one of {', '.join(SYNTHESES)}, got {synthesis!r}")
    if not isinstance(points, int) or isinstance(points, bool) or points < 1:
        raise ValueError(f"points: expected a whole number of at least 1, got {points!r}")
    if synthesis == "loop" and not normalize:
        raise ValueError("synthesis='loop' runs along the unit sphere: it needs normalize=True; or use 'loop_linear'")


def positive_pairs(labels: Tensor) -> PositivePairs:
    """The pairs of alternate samples of each class. labels int64 (N,) -> N // 2 rows, those that are valid first."""
    n = len(labels)
    values, order = labels.sort(stable=True)
    place = torch.arange(n, device=labels.device)
    opens = torch.ones_like(labels, dtype=torch.bool)
    opens[1:] = values[1:] != values[:-1]
    rank = place - torch.where(opens, place, 0).cummax(0).values
    starts = rank % 2 == 0
    starts[:-1] &= ~opens[1:]
    starts[-1:] = False
    chosen = starts.to(torch.uint8).sort(descending=True, stable=True).indices[: n // 2]
    return PositivePairs(order[chosen], order[chosen + 1 - (chosen == n - 1).long()], starts[chosen])


def hardest(embeddings: Tensor, labels: Tensor, synthesis: str, points: int = 2, normalize: bool = True) -> Hardest:
    """The distances d_ij and d_ijkl of a batch.

    Parameters
    ----------
    embeddings : (N, D) float32 or float64, unit vectors if `normalize`.
    labels : int64 (N,).
    synthesis : `loop`, `loop_linear` or `embedding_expansion`.
    points : how many points embedding expansion interpolates between the two samples of a pair.
    normalize : whether interpolated points go back to the unit sphere.
    """
    assert synthesis in SYNTHESES[1:], synthesis
    pairs = positive_pairs(labels)
    x1, x2 = embeddings[pairs.first], embeddings[pairs.second]
    if synthesis == "loop":
        negative = geodesic.arcs(x1, x2, x1, x2).distance
    elif synthesis == "loop_linear":
        negative = geodesic.segments(x1, x2, x1, x2).distance
    else:
        negative = _expanded(x1, x2, points, normalize)
    classes = labels[pairs.first]
    mask = (classes[:, None] != classes) & pairs.valid[:, None] & pairs.valid
    return Hardest(pairs, geodesic.safe_sqrt((x1 - x2).square().sum(1)), negative, mask)


def _expanded(x1: Tensor, x2: Tensor, points: int, normalize: bool) -> Tensor:
    """The least distances (P, P) between the sets {x1, x2, points between}."""
    pairs, size = len(x1), points + 2
    share = torch.linspace(0, 1, size, dtype=x1.dtype, device=x1.device)[1:-1, None]
    inner = x1[:, None] * (1 - share) + x2[:, None] * share
    if normalize:
        # Midway between opposite samples there is no direction: the first sample stands in.
        length = geodesic.safe_sqrt(inner.square().sum(2, keepdim=True))
        exists = length > torch.finfo(x1.dtype).eps ** 0.5
        inner = torch.where(exists, inner / torch.where(exists, length, 1), x1[:, None])
    every = torch.cat([x1[:, None], inner, x2[:, None]], dim=1).flatten(0, 1)
    squares = every.square().sum(1)
    squared = squares[:, None] + squares - 2 * every @ every.T
    blocks = squared.view(pairs, size, pairs, size).transpose(1, 2).flatten(2)
    nearest = blocks.detach().argmin(2, keepdim=True)
    return geodesic.safe_sqrt(blocks.gather(2, nearest).squeeze(2))
