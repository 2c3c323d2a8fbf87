"""Losses over all pairs of each anchor. Each class is a part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses import synthesis as between_pairs
from dml.losses._forms import Form, checked_labels, pair_masks, positions, zero
from dml.losses._geometry import Geometry, PullBack, attach, through
from dml.losses._pairs import HalfSquare, PairLoss
from dml.settings import check_above, check_choice, check_number, check_within
from dml.types import Choice, LogUniform, Space, Uniform

FAR = 1e30  # excludes an entry from a maximum or minimum
LEAST = -80.0  # smaller exponents count as -infinity: `exp` of them takes ten times as long and is lost beside 1


class MultiSimilarity(PairLoss):
    """Multi-similarity loss (Wang et al. 2019, eq. 15; in Vasudeva et al., LoOp, eq. 12).

        1/N sum_i [ 1/alpha log(1 + sum_p exp(-alpha (s_ip - base))) + 1/beta log(1 + sum_n exp(beta (s_in - base))) ]

    over the pairs that anchor i keeps. An anchor without pairs adds 0 and is counted in N, as in
    pytorch-metric-learning. The miner (`multi_similarity` policies) decides which pairs are kept; without tuples all
    pairs are.

    With `synthesis`, the negatives of anchor i are the positive pairs (k, l) of other classes instead, with the
    similarity 1 - d_ijkl^2 / 2 to i's own pair (i, j) (LoOp, section 3.3.4; `synthesis.py` defines pairs and d_ijkl). A
    pair counts for i if it is at least as similar as the least similar negative that i keeps. The paper's rule, s > min
    s_ip - epsilon, is the same up to the gap between that bound and the first negative above it. Without a negative to
    keep, i gets none.

    Search space: a part of powerful-benchmarker's example, alpha and beta log-uniform in [0.01, 100] and base in [0, 1]
    (Musgrave et al. 2020), around the paper's 2, 50 and 1, LoOp's base 0.5, and the 0.2 that suits heads which start
    from whitening.

    Parameters
    ----------
    alpha, beta : sharpness for positive and for negative pairs; > 0.
    base : the similarity (lambda) that separates easy from hard.
    synthesis : `none`, `loop`, `loop_linear` or `embedding_expansion`.
    points : number of points that embedding expansion interpolates within a pair.
    normalize : L2-normalise the embeddings; `loop` requires it.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "alpha": LogUniform(0.5, 20),
        "beta": LogUniform(5, 100),
        "base": Uniform(0.2, 1.0),
    }

    def __init__(
        self,
        alpha: float = 2.0,
        beta: float = 50.0,
        base: float = 0.5,
        synthesis: str = "none",
        points: int = 2,
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory, "counted" if synthesis == "none" else "removed")
        check_above("alpha", alpha, 0)
        check_above("beta", beta, 0)
        check_number("base", base)
        between_pairs.check(synthesis, points, normalize, memory)
        self.alpha, self.beta, self.base = alpha, beta, base
        self.synthesis, self.points = synthesis, points

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        if not len(labels):
            return zero(embeddings)
        if self.synthesis != "none":
            return self._synthetic(embeddings, labels, tuples)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples)
        similarities = geometry.matrix
        self.stats = {"anchor_share": (positives.sum(1) + negatives.sum(1)).sign().mean()}
        pull, pull_gradient = soft_count(similarities, positives, -self.alpha, self.base)
        push, push_gradient = soft_count(similarities, negatives, self.beta, self.base)
        size = len(labels)
        value = (pull / self.alpha + push / self.beta).sum() / size
        return geometry.finish(value, push_gradient.sub_(pull_gradient), divisor=size)

    def _synthetic(self, embeddings: Tensor, labels: Tensor, tuples: Form) -> Tensor:
        geometry = Geometry(embeddings, "similarity", self.normalize)
        x, n = positions(embeddings, self.normalize), len(embeddings)
        pairs, _, distances, allowed = between_pairs.hardest(x, labels, self.synthesis, self.points, self.normalize)
        if not len(pairs.valid):
            return zero(embeddings)
        similarities = geometry.matrix
        positives, negatives = pair_masks(labels, tuples, similarities.dtype)
        kept = positives.sum(1)
        slack = 4 * torch.finfo(x.dtype).eps  # the hardest of a set is as similar as its ends, up to rounding
        least = negatives.sub_(1).mul_(-FAR).add_(similarities).amin(1, keepdim=True) - slack
        pull, pull_gradient = soft_count(similarities, positives, -self.alpha, self.base)
        synthetic = 1 - distances.detach().square() / 2
        push, push_gradient = torch.zeros_like(pull[:1]), torch.zeros_like(synthetic)
        for end in (pairs.first, pairs.second):  # each sample is an end of at most one pair
            mask = (allowed & (synthetic >= least[end])).to(x.dtype)
            kept = kept.index_add(0, end, mask.sum(1))
            value, gradient = soft_count(synthetic, mask, self.beta, self.base)
            push, push_gradient = push + value.sum(), push_gradient.add_(gradient)
        self.stats = {"anchor_share": kept.sign().mean()}
        pulled = geometry.finish(pull.sum() / self.alpha / n, pull_gradient.neg_(), divisor=n)
        return pulled + attach(push[0] / self.beta / n, (distances, push_gradient.mul_(distances.detach()).div_(-n)))


def soft_count(similarities: Tensor, mask: Tensor, sharpness: float, base: float) -> tuple[Tensor, Tensor]:
    """log(1 + sum_j mask_ij exp(sharpness (s_ij - base))) for each row (N,), and each term's share in it (N, N).

    `mask` (0 and 1) is overwritten.
    """
    exponents = mask.sub_(1).mul_(FAR).add_(similarities, alpha=sharpness).sub_(sharpness * base)
    top = exponents.amax(1, keepdim=True).clamp_(min=0)
    terms = torch.threshold_(exponents.sub_(top).clamp_(min=LEAST).exp_(), 2 * math.exp(LEAST), 0.0)
    total = terms.sum(1, keepdim=True).add_(torch.exp(-top))
    return (total.log() + top)[:, 0], terms.div_(total)


FORMS = ("nt_xent", "supcon_out", "supcon_in")
HIDDEN = -1e30  # the exponent of a pair that is not in a sum


class InfoNce(PairLoss):
    """InfoNCE with positives by label: NT-Xent (Chen et al. 2020, eq. 1) and both sums of SupCon (Khosla et al. 2020).

    `nt_xent`, mean over positive pairs:  -log( e_ip / (e_ip + sum_n e_in) ),  e_ij = exp(s_ij / t)

    `supcon_out` (eq. 2), mean over anchors:  -1/|P| sum_p log( e_ip / sum_{a in P or N} e_ia )
    `supcon_in` (eq. 3), mean over anchors:   -log( 1/|P| sum_p e_ip / sum_{a in P or N} e_ia )

    P and N are the positives and negatives of anchor i. Anchors without a positive are left out. With one positive an
    anchor, all three are van den Oord et al.'s InfoNCE (2018).

    Search space: from the smallest temperatures in use to SimCLR's largest (Chen et al. 2020, table 5: 0.05 to 1;
    SupCon has 0.1; contrastive language-image training ends at 0.01).

    Parameters
    ----------
    temperature : t; > 0.
    form : `nt_xent`, `supcon_out` or `supcon_in`.
    normalize, memory : L2-normalise the embeddings; {size: ..., warm_up: ...} as `_pairs.py` says, or None.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"temperature": LogUniform(0.01, 1.0), "form": Choice(FORMS)}

    def __init__(
        self,
        temperature: float = 0.1,
        form: str = "supcon_out",
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_above("temperature", temperature, 0)
        check_choice("form", form, FORMS)
        self.temperature, self.form = temperature, form

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples)
        exponents = geometry.matrix.div_(self.temperature)
        counts = positives.sum(1, keepdim=True)
        self.stats = {"anchor_share": counts.sign().sum() / max(len(labels), 1)}
        if self.form == "nt_xent":
            value, derivative = _each_against_negatives(exponents, positives, negatives)
            terms = counts.sum().clamp(min=1)
        else:
            value, derivative = _shares(exponents, positives, negatives, counts, inside=self.form == "supcon_in")
            terms = counts.sign().sum().clamp(min=1)
        return geometry.finish(value / terms, derivative, divisor=terms * self.temperature)


def _each_against_negatives(exponents: Tensor, positives: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """The sum over positive pairs, and its derivative with respect to the exponents (N, N). Masks are overwritten."""
    rest, pull = log_sum_exp(exponents, negatives)
    above = rest - exponents
    value = (positives * torch.nn.functional.softplus(above, threshold=80)).sum()
    push = torch.sigmoid(above).mul_(positives)
    return value, pull.mul_(push.sum(1, keepdim=True)).sub_(push)


def _shares(
    exponents: Tensor, positives: Tensor, negatives: Tensor, counts: Tensor, inside: bool
) -> tuple[Tensor, Tensor]:
    """The sum over anchors with a positive, and its derivative, as above."""
    anchors = counts.sign()
    total, share = log_sum_exp(exponents, negatives.add_(positives).clamp_(max=1))
    if inside:
        nearest, part = log_sum_exp(exponents, positives)
        value = (anchors * (total - nearest + counts.clamp(min=1).log())).sum()
    else:
        part = positives.div_(counts.clamp(min=1))
        value = (anchors * total).sum() - (part * exponents).sum()
    return value, share.sub_(part).mul_(anchors)


def log_sum_exp(exponents: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """log sum exp of each row over a mask, (N, 1), and each term's share (N, N); of an empty row about -1e30, and 0."""
    inside = torch.where(mask > 0, exponents, HIDDEN)
    top = inside.amax(1, keepdim=True) if inside.shape[1] else inside.new_zeros(len(inside), 1)
    terms = inside.sub_(top).exp_().mul_(mask)
    total = terms.sum(1, keepdim=True)
    empty = total == 0
    return torch.where(empty, HIDDEN, total.log() + top), terms.div_(total + empty)


class Circle(PairLoss):
    """Circle loss (Sun et al. 2020, Circle loss: a unified perspective of pair similarity optimization, eq. 4 to 8).

        mean over anchors of log(1 + sum_n exp(gamma a_n (s_n - m)) sum_p exp(-gamma a_p (s_p - 1 + m)))
        a_p = [1 + m - s_p]_+ ,  a_n = [s_n + m]_+

    over the positives and negatives of each anchor that has both. The weights a are constants, as in the paper's code:
    no gradient goes through them.

    Search space: around the paper's gamma 80 and m 0.4 for fine-grained images, with its 256 and 0.25 for faces.

    Parameters
    ----------
    margin : m, the relaxation; 0 to 1.
    gamma : sharpness; > 0.
    normalize, memory : L2-normalise the embeddings; {size: ..., warm_up: ...} as `_pairs.py` says, or None.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"gamma": LogUniform(20, 320), "margin": Uniform(0.1, 0.6)}

    def __init__(
        self, margin: float = 0.4, gamma: float = 80.0, normalize: bool = True, memory: Mapping[str, Any] | None = None
    ):
        super().__init__(normalize, memory)
        check_above("gamma", gamma, 0)
        check_within("margin", margin, 0, 1)
        self.margin, self.gamma = margin, gamma

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples)
        similarities = geometry.matrix
        both = positives.amax(1, keepdim=True) * negatives.amax(1, keepdim=True) if len(labels) else positives
        weights = torch.relu(1 + self.margin - similarities).mul_(-self.gamma)
        pull, pulled = log_sum_exp((similarities - (1 - self.margin)).mul_(weights), positives)
        derivative = pulled.mul_(weights)
        weights = torch.relu(similarities + self.margin).mul_(self.gamma)
        push, pushed = log_sum_exp((similarities - self.margin).mul_(weights), negatives)
        derivative.add_(pushed.mul_(weights))
        total = (pull + push) * both
        anchors = both.sum().clamp(min=1)
        self.stats = {"anchor_share": both.sum() / max(len(labels), 1)}
        value = (torch.nn.functional.softplus(total, threshold=80) * both).sum() / anchors
        return geometry.finish(value, derivative.mul_(torch.sigmoid(total) * both), divisor=anchors)


NONE = 1e30  # represents the infinite distance of a negative that is not given


class LiftedStructure(PairLoss):
    """Lifted structured similarity softmax, LSSS (Song, Xiang, Jegelka, Savarese 2016, eq. 4).

        J_ij = log( sum_n exp(margin - d_in) + sum_n exp(margin - d_jn) ) + d_ij
        L = mean over positive pairs of 1/2 [J_ij]_+^2

    The first sum runs over the negatives of i, the second over those of j. A positive pair costs 0 if neither of its
    ends has a negative.

    Search space: from a fifth to twice Song et al.'s margin of 1; distances of unit vectors are at most 2.

    `margin`: added to each negative's similarity -d, in distance. `normalize`: L2-normalise the embeddings.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.2, 2.0)}

    def __init__(self, margin: float = 1.0, normalize: bool = True):
        super().__init__(normalize)
        check_number("margin", margin)
        self.margin = margin

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry = Geometry(embeddings, "euclidean", self.normalize)
        positives, negatives = pair_masks(labels, tuples, geometry.matrix.dtype)
        count = positives.sum().clamp(min=1)
        lifted, pull_back = self._lifted(geometry.matrix, negatives)
        total, slope, active = HalfSquare(lifted).weighted(positives)
        self.stats = {"active_share": active / count}
        return geometry.finish(total / count, pull_back(slope), divisor=count)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each pair's 1/2 [J]_+^2 and whether it is a positive pair, (N^2,) both; differentiable by autograd."""
        labels = checked_labels(embeddings, labels)
        distances = Geometry(embeddings, "euclidean", self.normalize).attached()
        positives, negatives = pair_masks(labels, tuples, distances.dtype)
        lifted = through(distances, *self._lifted(distances.detach(), negatives))
        return HalfSquare(lifted).each().flatten(), positives.flatten()

    def _lifted(self, d: Tensor, negatives: Tensor) -> tuple[Tensor, PullBack]:
        """J (N, N)."""
        if not len(d):
            return d, lambda slope: slope
        push, back_to_distances = _log_sum_exp(d, negatives)
        both, back_to_push = _log_add_exp(push + self.margin)
        return both.add_(d), lambda slope: back_to_distances(back_to_push(slope)).add_(slope)


def _log_sum_exp(d: Tensor, negatives: Tensor) -> tuple[Tensor, PullBack]:
    """log sum_n exp(-d_in) over the negatives of each row, (N, 1); -NONE for a row without."""
    exponents = (1 - negatives).mul_(-NONE).sub_(d)
    top = exponents.amax(1, keepdim=True)
    terms = exponents.sub_(top).exp_().mul_(negatives)
    total = terms.sum(1, keepdim=True)
    total += total == 0
    return total.log() + top.clamp(min=-NONE), lambda slope: terms * (-slope / total)


def _log_add_exp(z: Tensor) -> tuple[Tensor, PullBack]:
    """log(exp(z_i) + exp(z_j)) of a column z (N, 1), (N, N)."""
    top = torch.maximum(z, z.T)
    first = torch.exp(z - top)
    total = torch.exp(z.T - top).add_(first)
    share = first.div_(total)

    def back(slope: Tensor) -> Tensor:
        of_row = slope * share
        return (of_row.sum(1) + (slope.sum(0) - of_row.sum(0)))[:, None]

    return total.log_().add_(top), back
