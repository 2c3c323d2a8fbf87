"""Trimmed loss (Yang et al., cited in Levi et al., Rethinking preventing class-collapsing, sec. 5.2.5).

Only the share `keep` of a batch's tuples with the lowest losses counts, positives and negatives alike. The value is
their mean:

    k = ceil(keep * T),   1/k sum of the k lowest losses

It wraps any loss with a value for each tuple: a pair, a triple or, for softmax and proxy_nca, a sample. A pair that
counts several times is as many tuples. The `reduction` of the wrapped loss has no effect.

Search space: the share that is kept, from less than any noise rate studied here leaves clean, to all. The wrapped
loss's own settings are not searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml import discovery
from dml.losses import build_for
from dml.losses._forms import Form, checked_labels, unless_finite
from dml.protocols import PerTupleLoss
from dml.settings import Shown, check_above, check_within
from dml.types import Space, Uniform


class Trimmed(Shown, nn.Module):
    """The mean of the lowest losses of another loss.

    Parameters
    ----------
    loss : the wrapped loss: its name, or a mapping {name: ..., settings ...} (or {name: ..., settings: {...}}).
    keep : the share of tuples kept, in (0, 1].
    num_classes, embedding_size, normalize : passed to the wrapped loss if it takes them and `loss` does not set them.

    Raises
    ------
    ValueError : the wrapped loss has no value for each tuple.
    """

    version: ClassVar[int] = 2
    search_space: ClassVar[dict[str, Space]] = {"keep": Uniform(0.4, 1.0)}

    def __init__(
        self,
        loss: str | Mapping[str, Any] = "triplet",
        keep: float = 0.9,
        num_classes: int | None = None,
        embedding_size: int | None = None,
        normalize: bool = True,
    ):
        super().__init__()
        check_above("keep", keep, 0)
        check_within("keep", keep, 0, 1)
        name, settings = _name_and_settings(loss)
        inner = build_for(name, settings, num_classes=num_classes, embedding_size=embedding_size, normalize=normalize)
        if not isinstance(inner, PerTupleLoss):
            parts = {n: discovery.find("dml.losses", n) for n in discovery.names("dml.losses")}
            able = [n for n, part in parts.items() if issubclass(part, PerTupleLoss)]
            raise ValueError(f"loss: {name!r} has no loss for each tuple. Choices: {', '.join(able)}")
        if getattr(inner, "memory", None) is not None:
            raise ValueError(f"loss: {name!r} has no loss for each pair with a memory: remove its memory")
        self.loss = inner
        self.keep = keep
        self.uses_tuples, self.takes_padding = inner.uses_tuples, inner.takes_padding
        self.left_out = "skipped" if getattr(inner, "left_out", "") in ("skipped", "counted") else "removed"
        self.stats: dict[str, Tensor] = {}

    @classmethod
    def components(cls, settings: Mapping[str, Any]) -> Mapping[str, tuple[str, str, Mapping[str, Any]]]:
        """The wrapped loss."""
        return {"loss": ("dml.losses", *_name_and_settings(settings.get("loss", discovery.defaults_of(cls)["loss"])))}

    @property
    def mining(self) -> Mapping[str, Any]:
        """That of the wrapped loss."""
        return self.loss.mining

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form that the wrapped loss takes -> scalar."""
        labels = checked_labels(embeddings, labels)
        losses, weights = self.loss.per_tuple(embeddings, labels, tuples)
        with torch.no_grad():
            counts = weights.to(torch.int32)
            kept = torch.ceil(self.keep * counts.sum().double() - 1e-9)
            share = _lowest(losses, counts, kept.long())
            self.stats = {"kept": kept}
        return torch.dot(losses, share) / kept.clamp(min=1).to(losses.dtype) + unless_finite(embeddings)


def _name_and_settings(loss: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    given: dict[str, Any] = {"name": loss} if isinstance(loss, str) else dict(loss)
    if "name" not in given:
        raise ValueError(f"loss: expected a name, or a mapping with a name; got {loss!r}")
    name = given.pop("name")
    return name, {**given.pop("settings", {}), **given}


def _lowest(losses: Tensor, undecided: Tensor, kept: Tensor) -> Tensor:
    """How often each tuple counts among the `kept` lowest, (T,); of equal losses the first come first."""
    integer = torch.int64 if losses.dtype == torch.float64 else torch.int32
    bits = torch.iinfo(integer).bits
    # By 16 bits at a time: a sort takes three times as long on a CPU.
    keys = (losses + 0.0).view(integer)  # -0.0 becomes 0.0
    keys = (keys >> (bits - 1)).bitwise_and_(torch.iinfo(integer).max).bitwise_xor_(keys)
    share = torch.zeros_like(undecided)
    kept = kept.view(1)
    for shift in range(bits - 16, -1, -16):
        digits = (keys >> shift).bitwise_and_(65535)
        if shift == bits - 16:
            digits.bitwise_xor_(32768)  # the sign: negative losses come first
        counts = torch.zeros(65536, dtype=torch.int32, device=keys.device).index_add_(0, digits, undecided)
        reached = counts.cumsum(0)
        last = torch.searchsorted(reached, kept).clamp_(max=65535)
        kept = kept - (reached[last] - counts[last])
        share.addcmul_(undecided, (digits < last).to(torch.int32))
        undecided.mul_(digits == last)
    before = undecided.cumsum(0, dtype=torch.int32).sub_(undecided)
    return share.add_(before.neg_().add_(kept).clamp_(min=0).minimum(undecided)).to(losses.dtype)
