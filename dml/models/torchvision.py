"""Any classifier of torchvision (resnet50, googlenet, ...), its last layer taken off."""

from __future__ import annotations

from typing import Any

from torch import nn
from torchvision import models

from dml.discovery import suggestion
from dml.models._frozen import Wrapped


class Torchvision(Wrapped):
    """images (N, 3, H, W) -> (N, features), the input of the network's classifier.

    Parameters
    ----------
    channels : must be 3 (grey images are repeated by the augmentation).
    image_size : not used.
    name : a name from `torchvision.models.list_models()`.
    pretrained : load torchvision's default ImageNet weights (downloaded once by torchvision).
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded (LoOp's supplement).
    """

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

    @staticmethod
    def statistics(name: str = "resnet50", pretrained: bool = True, **others: Any) -> dict[str, list[float]] | None:
        """The mean and std that torchvision's default weights of this network were trained with; None without them."""
        if not pretrained or name not in models.list_models(module=models):
            return None
        preset = models.get_model_weights(name).DEFAULT.transforms()  # type: ignore[attr-defined]
        return {"mean": list(preset.mean), "std": list(preset.std)}


def _settle_architecture(network: nn.Module) -> None:
    """Make GoogLeNet and Inception the same network with and without weights, or one could not be loaded as the other.

    torchvision takes GoogLeNet's auxiliary heads off, and rescales both networks' input, only where weights are loaded.
    The heads are classifiers that no loss here trains: data-parallel training would wait for their gradients.
    """
    if hasattr(network, "aux_logits"):
        setattr(network, "aux_logits", False)  # noqa: B010  (plain attributes, which Module's types do not know)
        setattr(network, "transform_input", True)  # noqa: B010
    for head in ("aux1", "aux2", "AuxLogits"):
        if hasattr(network, head):
            setattr(network, head, None)


def _take_off_classifier(network: nn.Module) -> int:
    """Replace the last linear layer by the identity; return the width of what came in."""
    for attribute in ("fc", "classifier", "head", "heads"):
        layer = getattr(network, attribute, None)
        if isinstance(layer, nn.Linear):
            setattr(network, attribute, nn.Identity())
            return layer.in_features
        if isinstance(layer, nn.Sequential) and isinstance(layer[-1], nn.Linear):
            width = layer[-1].in_features
            layer[-1] = nn.Identity()
            return width
    raise ValueError(f"backbone 'torchvision': {type(network).__name__} has no classifier that can be taken off")
