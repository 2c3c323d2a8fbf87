"""InfoNCE with positives by label: NT-Xent (Chen et al. 2020, eq. 1) and both sums of SupCon (Khosla et al. 2020).

`nt_xent`, mean over positive pairs:  -log( e_ip / (e_ip + sum_n e_in) ),  e_ij = exp(s_ij / t)

`supcon_out` (eq. 2), mean over anchors:  -1/|P| sum_p log( e_ip / sum_{a in P or N} e_ia )
`supcon_in` (eq. 3), mean over anchors:   -log( 1/|P| sum_p e_ip / sum_{a in P or N} e_ia )

P and N are the positives and negatives of anchor i. Anchors without a positive are left out. With one positive an
anchor, all three are van den Oord et al.'s InfoNCE (2018).

Search space: from the smallest temperatures in use to SimCLR's largest (Chen et al. 2020, table 5: 0.05 to 1; SupCon
has 0.1; contrastive language-image training ends at 0.01).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, checked_labels
from dml.losses._pairs import PairLoss
from dml.settings import check_above, check_choice
from dml.types import Choice, LogUniform, Space

FORMS = ("nt_xent", "supcon_out", "supcon_in")
HIDDEN = -1e30  # the exponent of a pair that is not in a sum


class InfoNce(PairLoss):
    """A softmax over the batch: each positive against the anchor's negatives.

    Parameters
    ----------
    temperature : t; > 0.
    form : `nt_xent`, `supcon_out` or `supcon_in`.
    normalize : L2-normalise the embeddings.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
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
            over = counts.sum().clamp(min=1)
        else:
            value, derivative = _shares(exponents, positives, negatives, counts, inside=self.form == "supcon_in")
            over = counts.sign().sum().clamp(min=1)
        return geometry.finish(value / over, derivative, over=over * self.temperature)


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
