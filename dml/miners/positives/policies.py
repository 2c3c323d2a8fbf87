"""The positive policies. Each class is a part."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.miners._batch import MinerBatch, one_of
from dml.protocols import Draw
from dml.settings import Shown, check_number


class All(Shown):
    """Every other sample of the anchor's class.

    With a policy that chooses one negative this is the 1-1 scheme of Le and Odobez, "Theoretical guarantees of deep
    embedding losses under label noise", section 4.1: one triple for each ordered positive pair. With
    `semihard_fixed` or `semihard_random` it is the semi-hard mining of FaceNet (Schroff, Kalenichenko and Philbin,
    CVPR 2015, section 3.2).
    """

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, S), S the size of the largest class minus one."""
        return batch.mates


class Random(Shown):
    """One other sample of the anchor's class, all with the same probability."""

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = one_of(batch.mates >= 0, draw(batch.mates[:, :1].shape))
        return batch.at(batch.mates, place, -1)


class Easy(Shown):
    """Easy positive sampling: p = argmin over t in C_a of d(a, t), the anchor's nearest class mate.

    Levi, Xiao, Wang and Darrell, "Rethinking preventing class-collapsing in metric learning with margin-based
    losses", section 4.3. Among equally near mates the first in the batch is chosen.
    """

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = batch.at(batch.distance, batch.mates, torch.inf).min(dim=1, keepdim=True).indices
        return batch.mates.gather(1, place)


class Hard(Shown):
    """The hard positive: p = argmax over t in C_a of d(a, t), the anchor's farthest class mate.

    Hermans, Beyer and Leibe, "In defense of the triplet loss for person re-identification", 2017, equation 5
    (batch-hard, with `hard` negatives). Among equally far mates the first in the batch is chosen.
    """

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        place = batch.at(batch.distance, batch.mates, -torch.inf).max(dim=1, keepdim=True).indices
        return batch.mates.gather(1, place)


class Semihard(Shown):
    """A random positive that is farther than the anchor's nearest negative, or any positive if none is farther.

    p ~ uniform {t in C_a : d(a, t) > min over n of d(a, n)}, or uniform C_a if that set is empty. These are the
    semi-hard positives of Roth et al., "Revisiting training strategies and generalization performance in deep metric
    learning", ICML 2020, the framework used for the tables of the easy-positive paper.
    """

    version: ClassVar[int] = 1

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, 1)."""
        nearest = batch.far.amin(dim=1, keepdim=True)
        beyond = batch.at(batch.distance, batch.mates, -torch.inf) > nearest
        admissible = torch.where(beyond.any(dim=1, keepdim=True), beyond, batch.mates >= 0)
        return batch.at(batch.mates, one_of(admissible, draw(nearest.shape)), -1)


class MultiSimilarity(Shown):
    """The positives of multi-similarity mining: {t in C_a : s(a, t) < max over n of s(a, n) + epsilon}.

    s is the inner product (the cosine if the miner normalises). Wang et al., "Multi-similarity loss with general
    pair weighting for deep metric learning", CVPR 2019, equation 11. An anchor without negatives gets no positive.

    `epsilon`: the mining margin, in units of similarity. A negative one keeps fewer pairs (LoOp, section 4.1: -0.02).
    """

    version: ClassVar[int] = 1

    def __init__(self, epsilon: float = 0.1) -> None:
        check_number("epsilon", epsilon)
        self.epsilon = epsilon

    def __call__(self, batch: MinerBatch, draw: Draw) -> Tensor:
        """-> int64 (N, S), S the size of the largest class minus one."""
        hardest = batch.gram.masked_fill(batch.same, -torch.inf).amax(dim=1, keepdim=True)
        kept = batch.at(batch.gram, batch.mates, torch.inf) < hardest + self.epsilon
        return batch.mates.masked_fill(~kept, -1)
