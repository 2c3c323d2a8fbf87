"""Building losses by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml import discovery
from dml.losses._foreign import ForeignLoss
from dml.protocols import Composite, Loss
from dml.types import Space


def build(name: str, /, **settings: Any) -> Loss:
    """A loss by its name here (`"margin"`), or by a dotted path (`"pytorch_metric_learning.losses.CircleLoss"`).

    Parameters
    ----------
    name : one of `discovery.names("dml.losses")`, or a dotted path to a class of another package. An object of that
        class is returned as it is if it has everything that `protocols.Loss` asks for, else within a `ForeignLoss`.
    settings : the loss's own settings; its file lists them.

    Raises
    ------
    ValueError : an unknown loss, an unknown setting or an invalid value; or a loss of `dml` that lacks members.
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

    Raises
    ------
    ValueError : an unknown loss.
    """
    return getattr(discovery.find("dml.losses", name), "closed_form", None)


def own_rate_of(name: str, settings: Mapping[str, Any]) -> Space | None:
    """The range of the learning rate of a loss's own parameters (proxies, beta); None: it has none, or states none.

    Raises
    ------
    ValueError : an unknown loss.
    """
    part = discovery.find("dml.losses", name)
    if issubclass(part, Composite):
        found = [own_rate_of(inner, own) for _, inner, own in part.components(settings).values()]
        return next((space for space in found if space is not None), None)
    space = getattr(part, "own_rate", None)
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
    """A loss with `settings`, and with those values that its constructor takes and `settings` does not set.

    Parameters
    ----------
    name : as for `build`.
    num_classes : training labels are 0 .. num_classes - 1; None: not known.
    embedding_size : D; None: not known.
    normalize : whether the trial's embeddings are L2-normalised; None: the loss's default.

    Raises
    ------
    ValueError : as for `build`.
    """
    known = {"num_classes": num_classes, "embedding_size": embedding_size, "normalize": normalize}
    offered = {key: value for key, value in known.items() if value is not None}
    part = discovery.find("dml.losses", name)
    return build(name, **{**discovery.accepted_by_bases(part, offered), **settings})
