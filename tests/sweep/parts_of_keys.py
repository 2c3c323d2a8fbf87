"""Parts outside `dml`, for the tests of keys."""

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from dml import losses


class Around(nn.Module):
    """A loss that runs another one, which may be composite itself."""

    version: ClassVar[int] = 1

    def __init__(self, loss: str | Mapping[str, Any] = "triplet"):
        super().__init__()
        name, settings = _split(loss)
        self.loss = losses.build_for(name, settings, num_classes=2)

    @classmethod
    def components(cls, settings: Mapping[str, Any]) -> Mapping[str, tuple[str, str, Mapping[str, Any]]]:
        return {"loss": ("dml.losses", *_split(settings.get("loss", "triplet")))}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Any = None) -> Tensor:
        return self.loss(embeddings, labels, tuples)


def _split(loss: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    given = {"name": loss} if isinstance(loss, str) else dict(loss)
    return given.pop("name"), given


class Policy:
    """A policy with a setting that has no default, and one whose default is not that of `dml`'s policies."""

    version: ClassVar[int] = 1

    def __init__(self, needed: int, epsilon: float = 0.2):
        self.needed, self.epsilon = needed, epsilon
