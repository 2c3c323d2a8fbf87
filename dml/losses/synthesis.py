"""The hardest negatives between pairs of positives: d_ijkl for (i, j) and (k, l) of two classes; and LoOp's hinges.

- `loop`: the least distance between the geodesics i -> j and k -> l (Vasudeva et al., ICCV 2021, sections 3.1-3.3).
- `loop_linear`: the least distance between segments, for embeddings that are not normalised (section 4.2).
- `embedding_expansion`: the least distance between sets of points: the ends of each pair and `points` points
  interpolated evenly between them, normalised if the embeddings are (Ko & Gu, "Embedding expansion: augmentation in
  embedding space for deep metric learning", CVPR 2020).

Pairs are alternate samples of a class in the order of the batch; the last of a class of odd size has none. Memory is
O(N^2), times `(points + 2)^2 / 4` for embedding expansion.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from dml.losses import geodesic
from dml.losses._forms import Form, checked_labels, positions, safe_root, unit, unless_finite
from dml.losses._geometry import near_limit, squared_between, squared_distances
from dml.losses._pairs import PairLoss
from dml.losses.geodesic import distance
from dml.settings import check_at_least, check_choice, check_count
from dml.tensors import may_look
from dml.types import Space, Uniform

SYNTHESES = ("none", "loop", "loop_linear", "embedding_expansion")


class PositivePairs(NamedTuple):
    """Pairs of alternate samples of a class, P = N // 2 rows."""

    first: Tensor  # int64 (P,), a position in the batch
    second: Tensor  # int64 (P,)
    valid: Tensor  # bool (P,); an invalid row contains meaningless positions within the batch


class Hardest(NamedTuple):
    """The hardest distances between the pairs of a batch."""

    pairs: PositivePairs
    positive: Tensor  # (P,), d_ij: the distance within each pair
    negative: Tensor  # (P, P), d_ijkl; symmetric; finite but meaningless where `mask` is False
    mask: Tensor  # bool (P, P): both pairs are valid, and of different classes


def check(synthesis: str, points: int, normalize: bool, memory: object = None) -> None:
    """Raise a ValueError unless these settings of a loss are valid together."""
    check_choice("synthesis", synthesis, SYNTHESES)
    check_count("points", points)
    if synthesis == "loop" and not normalize:
        raise ValueError(
            "synthesis='loop' runs along the unit sphere: expected normalize=True, got False (or use 'loop_linear')"
        )
    if synthesis != "none" and memory is not None:
        raise ValueError("memory: expected none with a synthesis, which is between positive pairs of the batch")


def positive_pairs(labels: Tensor) -> PositivePairs:
    """The pairs of alternate samples of each class. labels int64 (N,) -> N // 2 rows, valid ones first."""
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
    """The distances d_ij and d_ijkl of a batch: embeddings (N, D) as `_forms.positions` gives them, labels int64 (N,).

    `points`: number of points that embedding expansion interpolates between the two samples of a pair. `normalize`:
    embeddings are unit vectors, and interpolated points are projected onto the unit sphere.
    """
    assert synthesis in SYNTHESES[1:], synthesis
    pairs = positive_pairs(labels)
    x1, x2 = embeddings.index_select(0, pairs.first), embeddings.index_select(0, pairs.second)
    classes = labels[pairs.first]
    mask = (classes[:, None] != classes) & pairs.valid[:, None] & pairs.valid
    with torch.autocast(embeddings.device.type, enabled=False):
        negative = _between_pairs(x1, x2, synthesis, points, normalize)
        near = _near(x1, x2, negative, mask)
        if near is not None:
            first, second = (unit(x.double()) if normalize else x.double() for x in (x1, x2))
            exact = _between_pairs(first, second, synthesis, points, normalize).to(negative.dtype)
            negative = torch.where(near, exact, negative)
    return Hardest(pairs, safe_root((x1 - x2).square().sum(1)), negative, mask)


def _between_pairs(x1: Tensor, x2: Tensor, synthesis: str, points: int, normalize: bool) -> Tensor:
    """d_ijkl (P, P) of pairs with the ends x1 and x2, each (P, D)."""
    if synthesis == "loop":
        return geodesic.arcs(x1, x2, x1, x2).distance
    if synthesis == "loop_linear":
        return geodesic.segments(x1, x2, x1, x2).distance
    return _expanded(x1, x2, points, normalize)


def _near(x1: Tensor, x2: Tensor, negative: Tensor, mask: Tensor) -> Tensor | None:
    """Which distances (P, P) between pairs are too near for float32, bool (P, P); None: none, or a GPU."""
    if not len(negative) or negative.dtype == torch.float64 or not may_look(negative):
        return None
    norms = torch.maximum(x1.detach().square().sum(1), x2.detach().square().sum(1))
    near = negative.detach().square() < (norms[:, None] + norms) * near_limit(negative.dtype)
    near &= mask
    return near if near.any() else None


class NearestPairs(NamedTuple):
    """Each pair's distance to the nearest sample or pair of another class."""

    pairs: PositivePairs
    positive: Tensor  # (P,), the distance within each pair
    distance: Tensor  # (P,); meaningless where `exists` is False
    exists: Tensor  # bool (P,): the pair is valid and the batch has another class


def nearest(
    embeddings: Tensor, labels: Tensor, synthesis: str, points: int = 2, normalize: bool = True
) -> NearestPairs:
    """min over (k, l) of d_ijkl for each pair (i, j). The parameters are those of `hardest`."""
    if synthesis != "none":
        pairs, positive, negative, mask = hardest(embeddings, labels, synthesis, points, normalize)
        negative = without(negative, ~mask).min(1).values if len(positive) else positive
        return NearestPairs(pairs, positive, negative, mask.any(1))
    pairs = positive_pairs(labels)
    positive = between(embeddings, pairs.first, pairs.second)
    if not len(positive):
        return NearestPairs(pairs, positive, positive, pairs.valid)
    same = labels[:, None] == labels
    value, place = without(squared_distances(embeddings, normalize), same).min(1)
    end = torch.where(value[pairs.first] <= value[pairs.second], pairs.first, pairs.second)
    return NearestPairs(pairs, positive, between(embeddings, end, place[end]), pairs.valid & ~same.all(1)[pairs.first])


def without(distances: Tensor, mask: Tensor, sign: int = 1) -> Tensor:
    """Lift masked entries above all others, so that a minimum ignores them (sign -1: below, for a maximum)."""
    # `torch.where` takes four times as long on a CPU as this sum.
    return distances.add(mask, alpha=sign * torch.finfo(distances.dtype).max / 4)


def between(embeddings: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """The distances between rows `first` and rows `second`, each (P,), differentiable."""
    return safe_root((embeddings.index_select(0, first) - embeddings.index_select(0, second)).square().sum(1))


def _expanded(x1: Tensor, x2: Tensor, points: int, normalize: bool) -> Tensor:
    """The least distances (P, P) between the sets {x1, points between, x2}."""
    pairs, size = len(x1), points + 2
    if not pairs:
        return x1 @ x1.T
    with torch.no_grad():
        u2 = torch.linspace(0, 1, size, dtype=x1.dtype, device=x1.device)[:, None].expand(size, pairs)
        u1 = 1 - u2
        every = u1[:, :, None] * x1 + u2[:, :, None] * x2
        if normalize:
            length = every.norm(dim=2)
            exists = length > torch.finfo(x1.dtype).eps ** 0.5
            scale = 1 / torch.where(exists, length, 1)
            # The midpoint of opposite samples has no direction: the first sample replaces it.
            u1, u2 = torch.where(exists, u1 * scale, 1), torch.where(exists, u2 * scale, 0)
            every = u1[:, :, None] * x1 + u2[:, :, None] * x2
        flat, norms = every.flatten(0, 1), every.square().sum(2).flatten()
        squared = squared_between(flat, norms, flat, norms).view(size, pairs, size, pairs)
        # The least of each size x size block and its first place: `min` with an index is ten times slower than `amin`.
        least = squared.amin(2).amin(0)
        rank = torch.arange(size**2, 0, -1, dtype=torch.int32 if size > 181 else torch.int16, device=x1.device)
        place = ((squared == least[:, None]) * rank.view(size, 1, size, 1)).amax(2).amax(0)
        place.clamp_(min=1)  # if the least is NaN, it equals no entry
        squared, first = least, torch.div(size**2 - place.long(), size, rounding_mode="floor")
        second = size**2 - place.long() - first * size
        weights = (u1.T.gather(1, first), u2.T.gather(1, first), u1.gather(0, second), u2.gather(0, second))
        squared = squared.clamp(min=0)
        pull = 1 - squared / 2 if normalize else torch.ones_like(squared)
    return distance((x1, x2, x1, x2), weights, squared, pull)


class Hinge(PairLoss):
    """[d + margin - the distance to the nearest negative]_+, a mean over the positive pairs (i, j) of a batch.

    It chooses its own tuples; those of a miner are ignored. Deviation from Vasudeva et al., "LoOp: looking for optimal
    hard negative embeddings for deep metric learning", ICCV 2021: the sum is divided by the number of positive pairs;
    the paper calls its |P| "the set of classes in the batch". `synthesis.py` defines the pairs and d_ijkl.

    `margin`: added to the distance of the positive; >= 0. `synthesis`: `none`, `loop`, `loop_linear` or
    `embedding_expansion`. `points`: number of points that embedding expansion interpolates within a pair. `normalize`:
    L2-normalise the embeddings; `loop` requires it.
    """

    uses_tuples: bool = False
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.05, 0.8)}

    def __init__(self, margin: float = 0.2, synthesis: str = "none", points: int = 2, normalize: bool = True):
        super().__init__(normalize, left_out="removed")
        check_at_least("margin", margin, 0)
        check(synthesis, points, normalize)
        self.margin, self.synthesis, self.points = margin, synthesis, points

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) -> scalar; 0 if no pair has a negative."""
        labels = checked_labels(embeddings, labels)
        x = positions(embeddings, self.normalize)
        near = nearest(x, labels, self.synthesis, self.points, self.normalize)
        losses = torch.relu(self.positive(x, labels, near) + self.margin - near.distance) * near.exists
        count = near.exists.sum().clamp(min=1)
        self.stats = {"active_share": (losses.detach() > 0).sum() / count}
        return losses.sum() / count + unless_finite(x)

    @abstractmethod
    def positive(self, x: Tensor, labels: Tensor, near: NearestPairs) -> Tensor:
        """The distance (P,) of each pair's positive; x (N, D) as `positions` gives it, labels int64 (N,)."""


class LiftedHinge(Hinge):
    """Lifted structure in the hinge form of the LoOp paper (section 3.3.3).

        none:       [d_ij + margin - min(min_k d_ik, min_l d_jl)]_+       k, l: samples of other classes
        synthesis:  [d_ij + margin - min_kl d_ijkl]_+                     (k, l): positive pairs of other classes

    Song et al.'s loss with its smooth maximum is `lifted_structure`. Parameters: see `Hinge`.

    Search space: margins of the triplet loss and beyond, as the hardest negative is nearer. No published search.
    """

    version: ClassVar[int] = 1

    def positive(self, x: Tensor, labels: Tensor, near: NearestPairs) -> Tensor:
        """d_ij."""
        return near.positive


class HphnTriplet(Hinge):
    """Triplet loss with the hardest positive and the hardest negative of the LoOp paper (section 3.3.2).

        none:       [max(max_k d_ik, max_l d_jl) + margin - min(min_k d_ik, min_l d_jl)]_+
        synthesis:  [max(max_k d_ik, max_l d_jl) + margin - min_kl d_ijkl]_+

    Under max, k and l are of the pair's class; under min, of other classes, and (k, l) is a positive pair. With two
    samples a class it equals `lifted_hinge`. Parameters: see `Hinge`.

    Search space: as of `lifted_hinge`.
    """

    version: ClassVar[int] = 1

    def positive(self, x: Tensor, labels: Tensor, near: NearestPairs) -> Tensor:
        """The larger of the distances of a pair's two samples to their farthest samples of the class."""
        if not len(near.pairs.valid):
            return near.positive
        other = labels[:, None] != labels
        value, place = without(squared_distances(x, self.normalize), other, sign=-1).max(1)
        first, second = near.pairs.first, near.pairs.second
        end = torch.where(value[first] >= value[second], first, second)
        return between(x, end, place[end])
