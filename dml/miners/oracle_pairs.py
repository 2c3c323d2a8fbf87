"""A miner that is told the true labels, and leaves out triples whose positive, or whose negative, is wrong.

It says how much of the harm of wrong labels comes from false positive pairs and how much from false negative ones
(Le and Odobez, Improving deep metric learning with label noise guarantees, sec. 7). A study names it by its path:
`miner: {name: dml.miners.oracle_pairs.OraclePairs, settings: {right: positives}}`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from dml.miners import build
from dml.settings import Shown, check_choice
from dml.tensors import checked_labels
from dml.types import Tuples

RIGHT = ("neither", "positives", "negatives")


class OraclePairs(Shown):
    """Chooses triples as the miner of two policies does, by the given labels, and keeps those that are right.

    `right`: keep triples whose positive has the anchor's true label (`positives`), whose negative has another one
    (`negatives`), or all (`neither`). `positives`, `negatives`, `margin`: the two policies and their setting, as in
    `dml.miners.build`. Raises ValueError: an unknown policy or value.
    """

    version: ClassVar[int] = 1
    experiment: ClassVar[bool] = True  # nobody who trains knows the true labels: pages name no winner
    takes_truth: ClassVar[bool] = True

    def __init__(
        self,
        right: Literal["neither", "positives", "negatives"],
        positives: str = "all",
        negatives: str = "semihard_random",
        margin: float = 0.2,
    ) -> None:
        check_choice("right", right, RIGHT)
        self.right = right
        self.miner = build(positives=positives, negatives=negatives, margin=margin)

    @torch.no_grad()
    def __call__(self, embeddings: Tensor, labels: Tensor, truth: Tensor) -> Tuples:
        """Embeddings (N, D), given and true labels int (N,) -> int64 (T,) triples."""
        tuples = Tuples(*self.miner(embeddings, labels))
        if self.right == "neither":
            return tuples
        truth = checked_labels(embeddings, truth, "truth: ")
        other = tuples.positives if self.right == "positives" else tuples.negatives
        same = truth[tuples.anchors] == truth[other]
        kept = same if self.right == "positives" else ~same
        return Tuples(*(column[kept] for column in tuples))
