'''Losses: one file each. `build("triplet", margin=0.2)` makes one; `loss(embeddings, labels, tuples)` is a scalar.

A loss of your own begins as ten lines of plain torch; autograd does the rest. Save this as `dml/losses/cosine.py`, and
`cosine` is a name in studies, in `build` and in the contract tests:

    """A cosine loss. Search space: margins that similarities of strangers reach."""

    from typing import ClassVar

    import torch
    from torch import nn

    from dml.losses._forms import checked_labels, pair_weights
    from dml.losses._geometry import Geometry
    from dml.types import Uniform


    class Cosine(nn.Module):
        version, uses_tuples, takes_padding = 1, True, True
        mining: ClassVar[dict] = {}
        search_space: ClassVar[dict] = {"margin": Uniform(0.0, 0.9)}

        def __init__(self, margin=0.5, normalize=True):
            super().__init__()
            self.margin, self.normalize, self.stats = margin, normalize, {}

        def forward(self, embeddings, labels, tuples=None):
            labels = checked_labels(embeddings, labels)
            s = Geometry(embeddings, "similarity", self.normalize).attached()  # (N, N); also "euclidean", "squared"
            positives, negatives = pair_weights(labels, tuples, s.dtype)
            costs = positives * (1 - s) + negatives * torch.relu(s - self.margin)
            return costs.sum() / (positives + negatives).sum().clamp(min=1)

`_forms.py` describes the tuples, and `protocols.Loss` what a loss has beside `forward`. The losses here go one step
further: `_pairs.py` turns the cost of a pair into value and gradient without an N x N graph.
'''

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from dml import discovery
from dml.losses._pairs import Memory
from dml.protocols import Composite, Loss
from dml.types import Space


class ForeignLoss(nn.Module):
    """Calls a loss as those of pytorch-metric-learning are called: embeddings (N, D), labels (N,), and None or tensors.

    Its parameters are parameters here, and `uses_tuples`, `search_space`, `mining` and `stats` its own if it has them.
    """

    version: ClassVar[int] = 1
    takes_padding: ClassVar[bool] = False

    def __init__(self, loss: Any):
        super().__init__()
        self.loss = loss
        self.uses_tuples: bool = getattr(loss, "uses_tuples", True)
        self.search_space: Mapping[str, Space] = getattr(loss, "search_space", {})
        self.mining: Mapping[str, Any] = getattr(loss, "mining", {})

    @property
    def stats(self) -> Mapping[str, Tensor]:
        return getattr(self.loss, "stats", {})

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Any = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples as the loss takes them -> scalar."""
        return self.loss(embeddings, labels, tuples)


def build(name: str, /, **settings: Any) -> Loss:
    """A loss by its name here (`"margin"`), or by a dotted path (`"pytorch_metric_learning.losses.CircleLoss"`).

    `name`: one of `discovery.names("dml.losses")`, or a dotted path to a class of another package. An object of that
    class is returned as it is if it has everything that `protocols.Loss` asks for, else within a `ForeignLoss`.
    `settings`: the loss's own settings; its file lists them. Raises ValueError: an unknown loss, an unknown setting or
    an invalid value; or a loss of `dml` that lacks members.
    """
    loss = discovery.build("dml.losses", name, **settings)
    if isinstance(loss, Loss):
        return loss
    if not discovery.is_foreign(name):
        missing = sorted(member for member in vars(Loss) if member[0] != "_" and not hasattr(loss, member))
        raise ValueError(f"loss {name!r} lacks {', '.join(missing)}, which dml.protocols.Loss requires")
    return ForeignLoss(loss)


def closed_form_of(name: str) -> str | None:
    """The projection in closed form that a loss stands for (`dml.training.closed_form.KINDS`); None: it is trained.

    Raises ValueError: an unknown loss.
    """
    return getattr(discovery.find("dml.losses", name), "closed_form", None)


def innermost(name: str, settings: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The loss that one wraps, such as `trimmed`, and its own settings; a loss that wraps none: itself.

    Raises ValueError: an unknown loss.
    """
    part = discovery.find("dml.losses", name)
    inside = part.components(settings).values() if issubclass(part, Composite) else ()
    return next((innermost(*loss) for package, *loss in inside if package == "dml.losses"), (name, settings))


def parameter_rate_of(name: str, settings: Mapping[str, Any]) -> Space | None:
    """The range of the learning rate of a loss's own parameters (proxies, beta); None: it has none, or states none.

    Raises ValueError: an unknown loss.
    """
    name, settings = innermost(name, settings)
    space = getattr(discovery.find("dml.losses", name), "parameter_rate", None)
    if space is None or not any(True for _ in build_for(name, settings, num_classes=2, embedding_size=2).parameters()):
        return None  # such as a fixed beta
    return space


def build_for(
    name: str,
    settings: Mapping[str, Any],
    *,
    num_classes: int | None = None,
    embedding_size: int | None = None,
    normalize: bool | None = None,
) -> Loss:
    """A loss with `settings`, and those of the other values that its constructor takes and `settings` does not set.

    Labels are 0 .. num_classes - 1, embeddings (N, embedding_size), L2-normalised or not. Raises as `build`.
    """
    values = {"num_classes": num_classes, "embedding_size": embedding_size, "normalize": normalize}
    offered = {key: value for key, value in values.items() if value is not None}
    part = discovery.find("dml.losses", name)
    return build(name, **{**discovery.accepted_by_bases(part, offered), **settings})


__all__ = ["Memory", "build", "build_for", "closed_form_of", "innermost", "parameter_rate_of"]

__getattr__, __dir__ = discovery.lazy(__name__)
