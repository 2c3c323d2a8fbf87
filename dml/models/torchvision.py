"""Any classifier of torchvision (resnet50, googlenet, ...) without its last layer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any, ClassVar

from torch import nn

from dml.discovery import suggestion
from dml.models._weights import State, WeightsFile, load
from dml.models._wrapped import PADDINGS, Wrapped, pad_as_tensorflow
from dml.settings import check_choice
from dml.types import Resize

DEFAULT = "resnet50"
SIDE = 224  # pixels, where nothing is said
POSITIONS = "encoder.pos_embedding"  # of a Vision Transformer
HEADS = ("aux1", "aux2", "AuxLogits")  # auxiliary classifiers of GoogLeNet and Inception


class Torchvision(Wrapped):
    """images (N, 3, H, W) -> (N, features), the input of the network's classifier.

    Parameters
    ----------
    channels : 3, as the weights expect; the augmentation repeats grey images to 3 channels.
    image_size : side of the images. A Vision Transformer is built for it, with interpolated position embeddings. None:
        224 pixels.
    name : a name from `torchvision.models.list_models()`.
    pretrained : load torchvision's default ImageNet weights, which torchvision downloads once.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded (LoOp's supplement).
    weights : a file of weights in place of torchvision's (`.safetensors`, `.pth`, `.pt`), with or without the
        classifier. All names and shapes must fit.
    mean, std : of the pixels, from 0 to 1, that the weights expect: a number or one for each channel. None: those of
        torchvision's weights, also for weights from a file (ImageNet's for almost all networks).
    padding : `torch`, or `tensorflow` for weights from there: layers with a stride pad as `SAME` does.
    arguments : further arguments of torchvision's constructor, such as `{width_mult: 0.5}`.
    """

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("torchvision",)

    def __init__(
        self,
        channels: int = 3,
        image_size: int | None = None,
        name: str = DEFAULT,
        pretrained: bool = True,
        frozen_batch_norm: bool = False,
        weights: WeightsFile | None = None,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        padding: str = "torch",
        arguments: Mapping[str, Any] | None = None,
    ):
        self.check_installed({"name": name})
        if channels != 3:
            raise ValueError(f"backbone 'torchvision': expected 3 channels, got {channels}")
        check_choice("backbone 'torchvision': padding", padding, PADDINGS)
        label, fetched = f"backbone 'torchvision': {name}", "DEFAULT" if pretrained and weights is None else None
        try:
            network = _networks().get_model(name, weights=fetched, **(arguments or {}))
        except (TypeError, ValueError, AssertionError) as error:
            raise ValueError(f"{label}: arguments {arguments}: {error}") from error
        side = image_size or int(getattr(network, "image_size", SIDE))
        _resize(network, side)
        _settle_architecture(network)
        classifier = _take_off_classifier(network)
        if padding == "tensorflow":
            pad_as_tensorflow(network)
        if weights is not None:
            load(network, weights, (classifier, *HEADS), lambda state: _for_size(network, state))
        super().__init__(network, label, channels, side, frozen_batch_norm)

    @classmethod
    def trained_on(cls, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Those of torchvision's default weights."""
        preset = _preset(settings.get("name", DEFAULT))
        return preset and {"mean": preset.mean, "std": preset.std}

    @classmethod
    def resized_to(cls, settings: Mapping[str, Any]) -> Resize | None:
        """Those of torchvision's default weights."""
        preset = _preset(settings.get("name", DEFAULT))
        if preset is None:
            return None
        (side,), (resized,) = preset.crop_size, preset.resize_size
        return Resize(side, preset.interpolation.value, side / resized)

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Raise a ValueError if torchvision has no network of this name."""
        name, available = settings.get("name", DEFAULT), _names()
        if name not in available:
            raise ValueError(f"backbone 'torchvision': unknown name {name!r}{suggestion(name, available)}")


def _networks() -> ModuleType:
    """Importing them takes more than a second, which reading a study can do without."""
    from torchvision import models

    return models


@cache
def _names() -> list[str]:
    return _networks().list_models(module=_networks())


def _preset(name: str) -> Any:
    """What torchvision does with images for its default weights of a network; None for an unknown name."""
    return _networks().get_model_weights(name).DEFAULT.transforms() if name in _names() else None


def _resize(network: nn.Module, side: int) -> None:
    """Make a Vision Transformer take images of another size than it was built for."""
    if side != getattr(network, "image_size", side):
        setattr(network, "image_size", side)  # noqa: B010
        state = _for_size(network, {POSITIONS: network.get_parameter(POSITIONS).detach()})
        setattr(network.get_submodule("encoder"), "pos_embedding", nn.Parameter(state[POSITIONS]))  # noqa: B010


def _for_size(network: nn.Module, state: State) -> State:
    """Weights with the position embeddings interpolated to the network's size, if it has any."""
    if POSITIONS not in state or not hasattr(network, "image_size"):
        return state
    resized = _networks().vision_transformer.interpolate_embeddings
    return resized(network.image_size, network.patch_size, OrderedDict(state))


def _settle_architecture(network: nn.Module) -> None:
    """Make GoogLeNet and Inception the same network with and without weights, so that a checkpoint fits both."""
    if hasattr(network, "aux_logits"):
        setattr(network, "aux_logits", False)  # noqa: B010  (plain attributes, which Module's types do not know)
        setattr(network, "transform_input", True)  # noqa: B010
    for head in HEADS:
        if hasattr(network, head):
            setattr(network, head, None)


def _take_off_classifier(network: nn.Module) -> str:
    """Replace the classifier's last layer by the identity. Returns its name."""
    for attribute in ("fc", "classifier", "head", "heads"):
        layer = getattr(network, attribute, None)
        if isinstance(layer, nn.Linear):
            setattr(network, attribute, nn.Identity())
            return attribute
        if not isinstance(layer, nn.Sequential):
            continue
        for name, inner in reversed(list(layer.named_children())):
            if isinstance(inner, nn.Linear | nn.Conv2d):
                setattr(layer, name, nn.Identity())
                return f"{attribute}.{name}"
    raise ValueError(f"backbone 'torchvision': {type(network).__name__} has no linear classifier to remove")
