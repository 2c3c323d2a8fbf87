"""Trimmed loss (Yang et al., cited in Levi et al., Rethinking preventing class-collapsing, sec. 5.2.5).

Of a batch's tuples only the share `keep` with the lowest loss counts, positives and negatives alike; the value is
their mean:

    k = ceil(keep * T),   1/k sum of the k least losses

It wraps any loss that has a value for each tuple: a pair, a triple or, for softmax and proxy_nca, a sample. A pair that
counts several times is as many tuples. The wrapped loss's own `reduction` has no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml import discovery
from dml.losses._forms import Form
from dml.losses._settings import check_batch
from dml.types import Space, Uniform


class Trimmed(nn.Module):
    """The mean of the lowest losses of another loss.

    Parameters
    ----------
    loss : the wrapped loss: its name, or a mapping {name: ..., settings ...} (or {name: ..., settings: {...}}).
    keep : the share of tuples kept, in (0, 1].
    num_classes, embedding_size : handed to the wrapped loss where it takes them and `loss` does not say.
    normalize : L2-normalise the embeddings; handed on likewise.

    Raises
    ------
    ValueError : the wrapped loss has no value for each tuple.

    Example
    -------
    >>> loss = Trimmed(loss={"name": "margin", "beta_per": "all"}, keep=0.8)
    """

    uses_tuples: ClassVar[bool] = True
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
        if not 0 < keep <= 1:
            raise ValueError(f"keep: expected a share in (0, 1]; got {keep!r}")
        given: dict[str, Any] = {"name": loss} if isinstance(loss, str) else dict(loss)
        if "name" not in given:
            raise ValueError(f"loss: expected a name, or a mapping with a name; got {loss!r}")
        name = given.pop("name")
        settings = {**given.pop("settings", {}), **given}
        part = discovery.find("dml.losses", name)
        if not hasattr(part, "per_tuple"):
            able = [n for n in discovery.names("dml.losses") if hasattr(discovery.find("dml.losses", n), "per_tuple")]
            raise ValueError(f"loss: {name!r} has no loss for each tuple to trim. Choices: {', '.join(able)}")
        context = {"num_classes": num_classes, "embedding_size": embedding_size, "normalize": normalize}
        known = discovery.settings_of(part)
        settings = {k: v for k, v in context.items() if k in known and v is not None} | settings
        self.loss = discovery.build("dml.losses", name, **settings)
        self.keep = keep
        self.last: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form the wrapped loss takes -> scalar."""
        check_batch(embeddings, labels)
        losses, weights = self.loss.per_tuple(embeddings, labels, tuples)
        with torch.no_grad():
            order = losses.masked_fill(weights == 0, float("inf")).argsort(stable=True)
            ranked = weights[order].double()
            kept = torch.ceil(self.keep * ranked.sum() - 1e-9)
            share = (kept - (ranked.cumsum(0) - ranked)).clamp_(min=0).minimum(ranked)
            share = torch.zeros_like(share).scatter_(0, order, share).to(losses.dtype)
            self.last = {"kept": kept}
        return (losses * share).sum() / kept.clamp(min=1).to(losses.dtype)
