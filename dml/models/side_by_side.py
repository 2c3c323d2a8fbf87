"""The features of several networks side by side, each made unit length.

    f(x) = [f_1(x) / |f_1(x)|, ..., f_n(x) / |f_n(x)|]

The cosine of two such vectors is the mean of the networks' cosines, so none counts more for its longer features.
Images are normalised as the first network's weights expect; each other one gets them as its own weights do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from dml.models._network import build_backbone, each_inside, find, pixels_of
from dml.models._wrapped import Untrained
from dml.types import Resize

UNCHANGED = {"mean": [0.0], "std": [1.0]}


class SideBySide(Untrained, nn.Module):
    """images (N, 3, H, W) -> (N, sum of the networks' features).

    `channels`: 3; the augmentation repeats grey images to 3 channels. `image_size`: of all networks. `backbones`: two
    or more, each by its name, or as `{name: timm, settings: {name: resnet50}}`.

    Raises ValueError: fewer than two backbones, or one that rejects its settings.
    """

    version: ClassVar[int] = 1
    scales: Tensor
    shifts: Tensor

    def __init__(
        self, channels: int = 3, image_size: int | None = None, backbones: Sequence[str | Mapping[str, Any]] = ()
    ):
        super().__init__()
        if channels != 3:
            raise ValueError(f"backbone 'side_by_side': expected 3 channels, got {channels}")
        parts = _parts(backbones)
        if not parts:
            raise ValueError("backbone 'side_by_side': backbones: expected two or more, got none")
        built = [build_backbone(name, channels, image_size, **settings) for name, settings in parts]
        self.networks, self.features = nn.ModuleList(built), sum(network.features for network in built)
        first = self.statistics(backbones=backbones) or UNCHANGED
        each = [first, *(find(name).statistics(**settings) or first for name, settings in parts)]
        mean, std = (torch.stack([torch.tensor(one[key]).expand(channels) for one in each]) for key in ("mean", "std"))
        self.register_buffer("scales", std[0] / std[1:])  # (n, 3), saved: without its weights a network expects nothing
        self.register_buffer("shifts", (mean[0] - mean[1:]) / std[1:])

    @classmethod
    def components(cls, settings: Mapping[str, Any]) -> Mapping[str, tuple[str, str, Mapping[str, Any]]]:
        """The networks, by their places in `backbones`."""
        parts = _parts(settings.get("backbones", ()))
        return {f"backbones.{place}": ("dml.models", *part) for place, part in enumerate(parts)}

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """Always 3, which each network takes."""
        return 3

    @classmethod
    def statistics(cls, **settings: Any) -> dict[str, list[float]] | None:
        """Those of the first network whose weights expect some."""
        each = (find(name).statistics(**part) for name, part in _parts(settings.get("backbones", ())))
        return next(filter(None, each), None)

    @classmethod
    def pixels(cls, **settings: Any) -> Resize | None:
        """Those of the networks whose weights were trained for some. Raises ValueError if these are different."""
        parts = [part for part in _parts(settings.get("backbones", ())) if find(part[0]).pixels(**part[1]) is not None]
        return pixels_of(parts) if parts else None

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings, in which no network fetches weights."""
        return each_inside(cls, settings, lambda name, part: find(name).without_weights(part))

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Raise a ValueError if an optional package that a network needs is missing."""
        for name, part in _parts(settings.get("backbones", ())):
            find(name).check_installed(part)

    def forward(self, images: Tensor) -> Tensor:
        shaped = zip(self.networks, self.scales[..., None, None], self.shifts[..., None, None], strict=True)
        return torch.cat([normalize(network(images * scale + shift)) for network, scale, shift in shaped], dim=1)


def _parts(backbones: Sequence[str | Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The names of backbones and their settings."""
    if isinstance(backbones, str | Mapping):
        raise ValueError(f"backbones: expected a list, got {backbones!r}")
    given: list[Any] = [{"name": one} if isinstance(one, str) else one for one in backbones]
    for one in given:
        if not isinstance(one, Mapping) or not {"name"} <= one.keys() <= {"name", "settings"}:
            raise ValueError(f"backbones: expected names, or {{name, settings}} of each; got {one!r}")
    if len(given) == 1:
        raise ValueError(f"backbones: expected two or more, got {backbones!r}")
    return [(one["name"], dict(one.get("settings") or {})) for one in given]
