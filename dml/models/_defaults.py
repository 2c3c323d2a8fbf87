"""What holds for a backbone that says nothing else of itself: random initial weights, any number of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dml.types import Resize


class Untrained:
    """Class members of `dml.protocols.Backbone` for a backbone without pretrained weights."""

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ()
    file_settings: ClassVar[Sequence[str]] = ()

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """Returns `channels`: images keep their channels."""
        return channels

    @classmethod
    def statistics(cls, **settings: Any) -> dict[str, list[float]] | None:
        """Returns None: no weights expect particular statistics."""
        return None

    @classmethod
    def pixels(cls, **settings: Any) -> Resize | None:
        """Returns None: no weights were trained at a particular size."""
        return None

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Returns `settings`: nothing is fetched."""
        return dict(settings)

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Does nothing: no package is needed."""
