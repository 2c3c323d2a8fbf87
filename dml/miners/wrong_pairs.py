"""A miner that errs on purpose: where labels are right, it gets a share of the positives or of the negatives wrong.

Wrong labels make wrong positives and wrong negatives at once. One kind without the other shows which does the harm
(Le and Odobez, Improving deep metric learning with label noise guarantees, sec. 7). A study names it by its path:
`miner: {name: dml.miners.wrong_pairs.WrongPairs, settings: {wrong: positives, share: 0.3}}`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from dml.miners import build
from dml.miners._batch import UniformNumbers, one_of
from dml.settings import Shown, check_choice, check_within
from dml.types import Tuples

WRONG = ("positives", "negatives")


class WrongPairs(Shown):
    """Chooses triples as the miner of two policies does, then replaces the positive or the negative of some.

    Parameters
    ----------
    wrong : `positives` become random samples of other classes, or `negatives` become random samples of the anchor's
        class, none of them in the triple already. A triple for which there is none stays as it is.
    share : the probability of a triple to be changed, from 0 to 1.
    positives, negatives, margin : the two policies and their setting, as in `dml.miners.build`.

    Raises ValueError: an unknown policy, or a value outside of its range.
    """

    version: ClassVar[int] = 1
    experiment: ClassVar[bool] = True  # no method that anybody would use: pages name no winner

    def __init__(
        self,
        wrong: Literal["positives", "negatives"],
        share: float,
        positives: str = "all",
        negatives: str = "semihard_random",
        margin: float = 0.2,
    ) -> None:
        check_choice("wrong", wrong, WRONG)
        check_within("share", share, 0, 1)
        self.wrong, self.share = wrong, share
        self.miner = build(positives=positives, negatives=negatives, margin=margin)

    @torch.no_grad()
    def __call__(self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None) -> Tuples:
        """Embeddings (N, D), labels int (N,) -> int64 (T,) triples. `generator` as in `PolicyMiner`."""
        anchors, positives, negatives = self.miner(embeddings, labels, generator)
        labels = labels.to(anchors.device)
        draw = UniformNumbers(generator, anchors.device)
        mates = labels[anchors][:, None] == labels
        candidates = ~mates if self.wrong == "positives" else mates
        others = candidates.scatter(1, torch.stack([anchors, positives, negatives], dim=1), value=False)
        other = one_of(others, draw(torch.Size((len(anchors), 1))))[:, 0]
        changed = (draw(anchors.shape) < self.share) & (other >= 0)
        if self.wrong == "positives":
            return Tuples(anchors, torch.where(changed, other, positives), negatives)
        return Tuples(anchors, positives, torch.where(changed, other, negatives))
