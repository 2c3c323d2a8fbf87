"""Any network of timm without its classifier (`timm` is part of the `pipeline` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from dml.models._wrapped import Wrapped


class Timm(Wrapped):
    """images (N, C, H, W) -> (N, features), after timm's own pooling.

    Parameters
    ----------
    channels : C of the images.
    image_size : ignored.
    name : a name from `timm.list_models()`, such as `inception_v3` or `vit_small_patch16_224`.
    pretrained : load timm's weights, which timm downloads once.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded.
    """

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("timm",)

    def __init__(
        self,
        channels: int = 3,
        image_size: int | None = None,
        name: str = "resnet50",
        pretrained: bool = True,
        frozen_batch_norm: bool = False,
    ):
        import timm  # an optional dependency

        if not timm.is_model(name):
            close = ", ".join(timm.list_models(f"*{name.split('.')[0][:6]}*")[:10])
            raise ValueError(f"backbone 'timm': unknown name {name!r}. Close: {close or 'see timm.list_models()'}")
        network = timm.create_model(name, pretrained=pretrained, num_classes=0, in_chans=channels)
        super().__init__(network, cast(int, network.num_features), frozen_batch_norm)

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """Returns `channels`: timm adapts the first convolution, and its weights."""
        return channels

    @classmethod
    def statistics(
        cls, name: str = "resnet50", pretrained: bool = True, **settings: Any
    ) -> dict[str, list[float]] | None:
        """Mean and std with which timm's weights of this name were trained, not always ImageNet's; None without."""
        import timm

        if not pretrained or not timm.is_model(name):
            return None
        known = timm.get_pretrained_cfg(name)
        return {"mean": list(known.mean), "std": list(known.std)} if known is not None else None
