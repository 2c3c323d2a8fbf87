"""Losses over the pairs of a batch: means over pairs, and the histogram loss. Each class is a part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import REDUCTIONS, Form, check_classes, checked_labels, divisor, pair_weights
from dml.losses._geometry import Geometry, dot
from dml.losses._pairs import Cost, HalfSquare, Hinge, Linear, PairLoss
from dml.settings import check_above, check_at_least, check_choice, check_count, check_number
from dml.types import Choice, LogUniform, Space, Uniform


class PairMean(PairLoss):
    """The base of means over pairs: each costs something by its distance, or by that less a boundary of its anchor."""

    measure: str = "euclidean"
    reduction: str

    @abstractmethod
    def costs(self, gap: Tensor) -> tuple[Cost, Cost]:
        """A pair's cost as a positive and as a negative; gap = d, or d - beta."""

    def beta_of(self, labels: Tensor, dtype: torch.dtype) -> Tensor | None:
        """The boundary of each anchor, (N, 1), if there is one."""
        return None

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples, self.measure, pair_weights)
        beta = self.beta_of(labels, geometry.matrix.dtype)
        count = positives.sum() + negatives.sum()
        as_positive, as_negative = self.costs(geometry.matrix if beta is None else geometry.matrix.sub_(beta.detach()))
        pull, push = as_positive.weighted(positives), as_negative.weighted(negatives)
        active = pull.active + push.active
        divided_by = divisor(self.reduction, count, active)
        derivative = pull.slope.sub_(push.slope)
        self.stats, terms = {"active_share": active / count.clamp(min=1)}, []
        if beta is not None:
            self.stats["beta"] = beta.detach().sum() / max(len(beta), 1)
            terms = [(beta, -derivative.sum(1, keepdim=True) / divided_by)] if beta.requires_grad else []
        return geometry.finish((pull.total + push.total) / divided_by, derivative, *terms, divisor=divided_by)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's loss and how often it counts, (N^2,) or (2 N^2,) both; differentiable by autograd."""
        labels = checked_labels(embeddings, labels)
        matrix = Geometry(embeddings, self.measure, self.normalize).attached()
        beta = self.beta_of(labels, matrix.dtype)
        as_positive, as_negative = (cost.each() for cost in self.costs(matrix if beta is None else matrix - beta))
        positives, negatives = pair_weights(labels, tuples, matrix.dtype)
        if tuples is None:
            return torch.lerp(as_negative, as_positive, positives).flatten(), (positives + negatives).flatten()
        return torch.cat((as_positive, as_negative)).flatten(), torch.cat((positives, negatives)).flatten()


class Contrastive(PairMean):
    """Contrastive loss, a mean over pairs.

        hadsell:  positive 1/2 d^2,  negative 1/2 [margin - d]_+^2  (Hadsell, Chopra, LeCun 2006, eq. 4)
        squared:  positive d^2,      negative [margin - d^2]_+      (Levi et al., Preventing class-collapsing, sec. 3)

    The default of pytorch-metric-learning is another loss: d and [margin - d]_+, each averaged over its non-zero pairs.

    Search space: users of powerful-benchmarker (Musgrave et al. 2020) search margins in [0, 1]; here up to the distance
    sqrt(2) of orthogonal embeddings, and not near 0, where all pairs cost nothing.

    Parameters
    ----------
    margin : the distance (`hadsell`) or squared distance (`squared`) from which a negative pair costs nothing.
    form : `hadsell` or `squared`.
    reduction : `mean` over the pairs, `nonzero` (over the pairs with a positive loss) or `sum`.
    normalize, memory : L2-normalise the embeddings; {size: ..., warm_up: ...} as `_pairs.py` says, or None.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.3, 1.4), "form": Choice(("hadsell", "squared"))}

    def __init__(
        self,
        margin: float = 1.0,
        form: str = "hadsell",
        reduction: str = "mean",
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_at_least("margin", margin, 0)
        check_choice("form", form, ("hadsell", "squared"))
        check_choice("reduction", reduction, REDUCTIONS)
        self.margin, self.form, self.reduction = margin, form, reduction
        self.measure = "euclidean" if form == "hadsell" else "squared"

    def costs(self, gap: Tensor) -> tuple[Cost, Cost]:
        """A pair's cost as a positive and as a negative; the distance is squared for the form `squared`."""
        if self.form == "hadsell":
            return HalfSquare(gap), HalfSquare(self.margin - gap)
        return Linear(gap), Hinge(self.margin - gap)


class Margin(PairMean):
    """Margin loss (Wu, Manmatha, Smola, Kraehenbuehl 2017, Sampling matters, sec. 4.2), a mean over pairs.

        positive [d - beta + margin]_+,   negative [beta - d + margin]_+

    beta is learned, one for each class (the anchor's) or one for all, or fixed (Le and Odobez: 1.4). It is always in
    the state_dict. A learned beta needs a far larger learning rate than the network, so a trial puts `parameters()` in
    a group of their own. The paper's regulariser nu * beta is left out (nu = 0 in its experiments).

    Search space: the margin around Wu et al.'s 0.2; beta from below their 1.2 to the 1.4 of Le and Odobez; beta's rate
    around the 5e-4 of Revisiting DML (Roth et al. 2020, parameters.py), a factor of 200 up: trials here have few steps.

    Parameters
    ----------
    margin : half the width of the band between positives and negatives, in distance.
    beta : the boundary, or its initial value if learned, in distance.
    beta_per : `class` (learned, one per class), `all` (learned, one) or `none` (fixed).
    num_classes : labels are 0 .. num_classes - 1; required for `beta_per="class"`.
    reduction : `nonzero` (mean over the pairs with a positive loss), `mean` over the pairs or `sum`.
    normalize, memory : L2-normalise the embeddings; {size: ..., warm_up: ...} as `_pairs.py` says, or None.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.05, 0.4), "beta": Uniform(0.8, 1.4)}
    parameter_rate: ClassVar[Space] = LogUniform(1e-4, 1e-1)

    def __init__(
        self,
        margin: float = 0.2,
        beta: float = 1.2,
        beta_per: str = "class",
        num_classes: int | None = None,
        reduction: str = "nonzero",
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_at_least("margin", margin, 0)
        check_number("beta", beta)
        check_choice("beta_per", beta_per, ("class", "all", "none"))
        check_choice("reduction", reduction, REDUCTIONS)
        if beta_per == "class" and (num_classes is None or num_classes < 1):
            raise ValueError(f"num_classes: beta_per='class' needs the number of classes; got {num_classes!r}")
        self.margin, self.beta_per, self.reduction = margin, beta_per, reduction
        start = torch.full((num_classes if beta_per == "class" and num_classes else 1,), float(beta))
        if beta_per == "none":
            self.register_buffer("beta", start)
        else:
            self.beta = nn.Parameter(start)

    def costs(self, gap: Tensor) -> tuple[Cost, Cost]:
        """A pair's cost as a positive and as a negative; gap = d - beta."""
        return Hinge(gap + self.margin), Hinge(self.margin - gap)

    def beta_of(self, labels: Tensor, dtype: torch.dtype) -> Tensor:
        """beta of each anchor, (N, 1); labels int64 (N,) in 0 .. num_classes - 1."""
        if self.beta_per == "class":
            check_classes(labels, len(self.beta))
        index = labels if self.beta_per == "class" else torch.zeros_like(labels)
        return self.beta.index_select(0, index).to(dtype)[:, None]


class BinomialDeviance(PairLoss):
    """Binomial deviance (Yi, Lei, Liao, Li 2014), as compared with in Ustinova and Lempitsky's histogram loss, sec. 4.

        mean over positive pairs of log(1 + exp(-alpha (s - beta)))
      + mean over negative pairs of log(1 + exp(alpha C (s - beta)))

    If a batch has no positive (negative) pairs, only the other mean remains.

    Search space: around Ustinova and Lempitsky's alpha 2, beta 0.5 and C 25, down to C = 1, equal costs: ours.

    Parameters
    ----------
    alpha : steepness; > 0.
    beta : the similarity that separates positive from negative pairs.
    negative_cost : C, how many times steeper the loss is for negatives; > 0.
    normalize, memory : L2-normalise the embeddings; {size: ..., warm_up: ...} as `_pairs.py` says, or None.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "alpha": LogUniform(0.5, 10),
        "beta": Uniform(0.0, 0.9),
        "negative_cost": LogUniform(1, 50),
    }

    def __init__(
        self,
        alpha: float = 2.0,
        beta: float = 0.5,
        negative_cost: float = 25.0,
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_above("alpha", alpha, 0)
        check_above("negative_cost", negative_cost, 0)
        check_number("beta", beta)
        self.alpha, self.beta, self.negative_cost = alpha, beta, negative_cost

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples, form=pair_weights)
        above = geometry.matrix.sub_(self.beta)
        positives.div_(positives.sum().clamp(min=1))
        negatives.div_(negatives.sum().clamp(min=1))
        slope_positive, slope_negative = -self.alpha, self.alpha * self.negative_cost
        value, gradient = _deviance(above * slope_positive, positives)
        more, push = _deviance(above.mul_(slope_negative), negatives)
        return geometry.finish(value + more, gradient.mul_(slope_positive).add_(push, alpha=slope_negative))


def _deviance(exponents: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """sum of weights * log(1 + exp(exponents)), and its derivative with respect to the exponents."""
    # softplus(z) = [z]_+ + log1p(exp(-|z|)): exact for any z, where torch's own is linear above a threshold.
    soft = exponents.abs().neg_().exp_().log1p_().add_(torch.relu(exponents))
    return dot(soft, weights), torch.sigmoid(exponents).mul_(weights)


class Histogram(PairLoss):
    """Histogram loss (Ustinova and Lempitsky 2016): all quadruplets of a batch, and no margin.

        L = sum_r h-_r sum_{q <= r} h+_q

    the probability that a random negative pair is more similar than a random positive one, from histograms h+ and h-
    with R nodes on [-1, 1]. Each similarity adds linearly to its two neighbouring nodes. In closed form (the poster's
    eq. 3 and 4 corrected): dL/dh-_r = sum_{q <= r} h+_q, dL/dh+_r = sum_{q >= r} h-_q, and h_r grows by 1 / (Delta |S|)
    per unit of s from the node below and falls by as much from the node above. Forward and backward are one scatter and
    one gather over the pairs, without an array of pairs x nodes. Similarities beyond [-1, 1] count as the nearest end,
    without a gradient if they are not normalised.

    A pair has no anchor here: a pair that the tuples contain in either direction counts once, as in
    pytorch-metric-learning.

    Search space: the poster reports that the number of nodes hardly matters; one doubling up and two down from its 201.

    Parameters
    ----------
    bins : number R of nodes, both ends included, >= 2: 201 gives a step of 0.01.
    normalize : L2-normalise the embeddings; if False, they should have unit length already.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"bins": Choice((51, 101, 201, 401))}

    def __init__(self, bins: int = 201, normalize: bool = True, memory: Mapping[str, Any] | None = None):
        super().__init__(normalize, memory)
        self.bins = check_count("bins", bins, 2)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar in [0, 1]."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples)
        similarities = geometry.matrix
        beyond = None if self.normalize else similarities.abs() > 1
        place = similarities.clamp_(-1, 1).add_(1).mul_((self.bins - 1) / 2)
        if tuples is not None:
            for among in (positives[:, : len(labels)], negatives[:, : len(labels)]):
                among.copy_(torch.maximum(among, among.T))
        # Four histograms, one after the other: pairs that are both, negatives, positives, and those that do not count.
        below = place.floor().clamp_(max=self.bins - 2).nan_to_num_(nan=0.0)  # a valid index; the share stays NaN
        share = place.sub_(below).flatten().double()  # float32 sums of 10^7 terms would lose the small ones
        offset = negatives.mul_(-2).sub_(positives).add_(3)
        index = below.add_(offset, alpha=self.bins).flatten().long()
        empty = share.new_zeros(4 * self.bins)
        number = empty.index_add(0, index, torch.ones_like(share))
        upper = empty.index_add(0, index, share)
        mass = (number - upper + torch.roll(upper, 1)).view(4, self.bins)
        size = number.view(4, self.bins).sum(1, keepdim=True)
        size = (size[1:3] + size[0]).clamp(min=1)
        of_negative, of_positive = (mass[1:3] + mass[0]) / size
        # If a kind of pair is missing, its histogram, the loss and every slope are zero.
        below_positive = of_positive.cumsum(0)
        above_negative = of_negative.flip(0).cumsum(0).flip(0)
        slopes = torch.stack((below_positive, above_negative)).diff(dim=1) * (self.bins - 1) / 2 / size
        slopes = torch.stack((slopes.sum(0), *slopes, torch.zeros_like(slopes[0])))
        slopes = torch.nn.functional.pad(slopes, (0, 1))
        gradient = slopes.flatten().to(place.dtype)[index].view_as(place)
        value = (of_negative * below_positive).sum().to(place.dtype)
        if beyond is not None:
            gradient.masked_fill_(beyond, 0)
        return geometry.finish(value, gradient)
