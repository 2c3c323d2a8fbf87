"""The network that a trial trains: a backbone and a head, the embedding layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, cast

from torch import Tensor, nn
from torch.nn import functional

from dml import discovery
from dml.models._layers import Layers
from dml.models._weights import resolve
from dml.models._wrapped import Untrained, freeze_batch_norm, width_of
from dml.models.small import Identity
from dml.protocols import Backbone, Composite
from dml.settings import check_choice
from dml.types import Resize


class NormalizedLinear(nn.Linear):
    """(N, features) -> (N, size): a linear layer on rows divided by their length, as whitening is fitted to."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(functional.normalize(input))


BATCH_NORMS = ("live", "frozen")


class EmbeddingNetwork(nn.Module):
    """images (N, C, H, W) float -> embeddings (N, embedding_size), not normalised: the losses normalise them.

    `embedding_size`: D of the head, a linear layer. `head_normalize`: divide each row of features by its length before
    the head. `batch_norm`: `live`, or `frozen`: the backbone keeps its statistics and affine parameters.

    Raises ValueError: an unknown batch norm; the message lists the choices.
    """

    def __init__(self, backbone: Backbone, embedding_size: int, head_normalize: bool = False, batch_norm: str = "live"):
        super().__init__()
        check_choice("batch_norm", batch_norm, BATCH_NORMS)
        self.backbone = backbone
        self.head = (NormalizedLinear if head_normalize else nn.Linear)(backbone.features, embedding_size)
        self.embedding_size = embedding_size
        self._freezes = batch_norm == "frozen"
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self._freezes:
            freeze_batch_norm(self.backbone)  # type: ignore[arg-type]
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.backbone(images))


SIDE = 64  # pixels of the images that a backbone is tried with, where nothing is said


def find(name: str) -> type[Backbone]:
    """The class of a backbone, by its name or a dotted path, with all class members of `dml.protocols.Backbone`.

    Members that a foreign class lacks say: no pretrained weights, any number of channels. Raises ValueError.
    """
    part = discovery.find("dml.models", name)
    if discovery.is_foreign(name) and not issubclass(part, Untrained):
        part = type(part.__name__, (part, Untrained), {"__module__": part.__module__, "__doc__": part.__doc__})
    return cast(type[Backbone], part)


def components_of(backbone: str, settings: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """A backbone and those that it runs, as (name, settings)."""
    part, components = find(backbone), [(backbone, settings)]
    if issubclass(part, Composite):
        for _, name, inner in part.components(settings).values():
            components += components_of(name, inner)
    return components


def each_inside(
    part: type, settings: Mapping[str, Any], change: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
) -> dict[str, Any]:
    """The settings of a backbone, in which those of the backbones that it runs are changed."""
    if not issubclass(part, Composite):
        return dict(settings)
    inside = [{"name": n, "settings": change(n, each)} for _, n, each in part.components(settings).values()]
    return {**settings, "backbones": inside}


def check_settings(backbone: str, settings: Mapping[str, Any]) -> None:
    """Raise a ValueError for a setting that a backbone, or one that it runs, does not take."""
    for name, given in components_of(backbone, settings):
        discovery.check_settings(find(name), given, f"backbone {name!r}")
        discovery.check_types(find(name), given, f"backbone {name!r}")


def packages_of(backbone: str, settings: Mapping[str, Any]) -> list[str]:
    """The packages whose versions decide the initial weights of a backbone, and of those that it runs."""
    return [package for name, _ in components_of(backbone, settings) for package in find(name).packages]


def pixels_of(networks: Sequence[tuple[str, Mapping[str, Any]]]) -> Resize:
    """How all of some networks' images are resized, each given as (name, settings).

    Raises ValueError: their weights were trained for different pixels, or for no particular ones.
    """
    labels: dict[Resize, str] = {}
    for name, settings in networks:
        label = f"backbone {name!r}" + (f" ({settings['name']})" if "name" in settings else "")
        find(name).check_installed(find(name).without_weights(settings))
        if (pixels := find(name).pixels(**settings)) is None:
            raise ValueError(f"{label} has random weights, or weights that were not trained on squares of one size")
        labels.setdefault(pixels, label)
    if len({(pixels.side, pixels.interpolation) for pixels in labels}) > 1:
        each = ", ".join(f"{label} for {pixels.side} ({pixels.interpolation})" for pixels, label in labels.items())
        raise ValueError(f"the networks were trained for different pixels: {each}")
    return next(iter(labels))


def with_files(backbone: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a backbone, with a `{path, sha256}` for each file that they name.

    Raises ValueError: there is no such file, or its name has another ending.
    """
    part = find(backbone)
    named = {name: resolve(settings[name]) for name in part.file_settings if settings.get(name) is not None}
    return {**each_inside(part, settings, with_files), **named}


def by_content(backbone: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a backbone, with the SHA-256 of each file that they name in place of the file.

    Raises ValueError: as `with_files`, for a file whose digest the settings do not state.
    """
    part = find(backbone)
    named = {name: settings[name] for name in part.file_settings if settings.get(name) is not None}
    digests = {k: (v if isinstance(v, Mapping) else resolve(v))["sha256"] for k, v in named.items()}
    return {**each_inside(part, settings, _stated), **digests}


def _stated(backbone: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a backbone inside another one, by content, without those that have their defaults."""
    defaults = discovery.defaults_of(find(backbone))
    return {key: value for key, value in by_content(backbone, settings).items() if value != defaults.get(key, ...)}


def build(
    backbone: str,
    *,
    embedding_size: int,
    channels: int = 3,
    image_size: int | None = None,
    head_normalize: bool = False,
    batch_norm: str = "live",
    layers: bool = False,
    **settings: Any,
) -> EmbeddingNetwork:
    """Construct a network from images to embeddings.

    Parameters
    ----------
    backbone : the name of a file in `dml/models` (`small_conv`, `torchvision`, ...), or a dotted path to a class with
        the same constructor.
    embedding_size : D, the width of the embeddings.
    channels : C of the images.
    image_size : side of the square images in pixels, for backbones whose layers depend on it.
    head_normalize, batch_norm : see `dml.models.EmbeddingNetwork`.
    layers : the features are those of several layers, see `dml.models.Layers`.
    settings : of the backbone.

    Raises ValueError: an embedding size below 1, or an unknown backbone or setting; the message lists the choices.
    """
    if embedding_size < 1:
        raise ValueError(f"embedding_size: expected at least 1, got {embedding_size}")
    part, shape = build_backbone(backbone, channels, image_size, **settings), (channels, *2 * [image_size or SIDE])
    if layers:
        part = Layers(part, shape)
    return EmbeddingNetwork(part, embedding_size, head_normalize, batch_norm)


def build_backbone(backbone: str, channels: int, image_size: int | None, **settings: Any) -> Any:
    """Construct a backbone. Parameters, and what is raised: as `build`."""
    part = discovery.build("dml.models", backbone, channels=channels, image_size=image_size, **settings)
    if discovery.is_foreign(backbone):
        side = image_size or SIDE
        part.features = width_of(part, f"backbone {backbone!r}", channels, side, side)
    return part


def build_head(features: int, *, embedding_size: int, **head: Any) -> EmbeddingNetwork:
    """Construct a network of only a head: features (N, `features`, 1, 1) or (N, `features`) -> embeddings."""
    return EmbeddingNetwork(Identity(features), embedding_size, **head)
