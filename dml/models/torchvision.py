"""Any classifier of torchvision (resnet50, googlenet, ...) without its last layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import nn
from torchvision import models

from dml.discovery import suggestion
from dml.models._wrapped import Wrapped


class Torchvision(Wrapped):
    """images (N, 3, H, W) -> (N, features), the input of the network's classifier.

    Parameters
    ----------
    channels : 3, as the weights expect; the augmentation repeats grey images to 3 channels.
    image_size : ignored.
    name : a name from `torchvision.models.list_models()`.
    pretrained : load torchvision's default ImageNet weights, which torchvision downloads once.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded (LoOp's supplement).
    """

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("torchvision",)

    def __init__(
        self,
        channels: int = 3,
        image_size: int | None = None,
        name: str = "resnet50",
        pretrained: bool = True,
        frozen_batch_norm: bool = False,
    ):
        available = models.list_models(module=models)
        if name not in available:
            raise ValueError(f"backbone 'torchvision': unknown name {name!r}{suggestion(name, available)}")
        if channels != 3:
            raise ValueError(f"backbone 'torchvision': expected 3 channels, got {channels}")
        network = models.get_model(name, weights="DEFAULT" if pretrained else None)
        _settle_architecture(network)
        super().__init__(network, _take_off_classifier(network), frozen_batch_norm)

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """Always 3."""
        return 3

    @classmethod
    def statistics(
        cls, name: str = "resnet50", pretrained: bool = True, **settings: Any
    ) -> dict[str, list[float]] | None:
        """Mean and std with which torchvision's default weights of this network were trained; None without them."""
        if not pretrained or name not in models.list_models(module=models):
            return None
        preset = models.get_model_weights(name).DEFAULT.transforms()  # type: ignore[attr-defined]
        return {"mean": list(preset.mean), "std": list(preset.std)}


def _settle_architecture(network: nn.Module) -> None:
    """Make GoogLeNet and Inception the same network with and without weights, so that a checkpoint fits both.

    With weights, torchvision removes GoogLeNet's auxiliary heads and rescales the input of both networks; without, it
    does neither. No loss here trains the heads, and data-parallel training would wait for their gradients.
    """
    if hasattr(network, "aux_logits"):
        setattr(network, "aux_logits", False)  # noqa: B010  (plain attributes, which Module's types do not know)
        setattr(network, "transform_input", True)  # noqa: B010
    for head in ("aux1", "aux2", "AuxLogits"):
        if hasattr(network, head):
            setattr(network, head, None)


def _take_off_classifier(network: nn.Module) -> int:
    """Replace the last linear layer by the identity. Returns the width of its input."""
    for attribute in ("fc", "classifier", "head", "heads"):
        layer = getattr(network, attribute, None)
        if isinstance(layer, nn.Linear):
            setattr(network, attribute, nn.Identity())
            return layer.in_features
        if isinstance(layer, nn.Sequential) and isinstance(layer[-1], nn.Linear):
            width = layer[-1].in_features
            layer[-1] = nn.Identity()
            return width
    raise ValueError(f"backbone 'torchvision': {type(network).__name__} has no linear classifier to remove")
