"""Any network of timm, its classifier taken off (`timm` is part of the `pipeline` extra)."""

from __future__ import annotations

from typing import Any, cast

from dml.models._frozen import Wrapped


class Timm(Wrapped):
    """images (N, C, H, W) -> (N, features), after timm's own pooling.

    Parameters
    ----------
    channels : C of the images.
    image_size : not used.
    name : a name from `timm.list_models()`, such as `inception_v3` or `vit_small_patch16_224`.
    pretrained : load timm's weights (downloaded once by timm).
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded.
    """

    def __init__(
        self,
        channels: int = 3,
        image_size: int | None = None,
        name: str = "resnet50",
        pretrained: bool = True,
        frozen_batch_norm: bool = False,
    ):
        import timm  # not needed by any other part of dml

        if not timm.is_model(name):
            close = ", ".join(timm.list_models(f"*{name.split('.')[0][:6]}*")[:10])
            raise ValueError(f"backbone 'timm': unknown name {name!r}. Close: {close or 'see timm.list_models()'}")
        network = timm.create_model(name, pretrained=pretrained, num_classes=0, in_chans=channels)
        super().__init__(network, cast(int, network.num_features), frozen_batch_norm)

    @staticmethod
    def statistics(name: str = "resnet50", pretrained: bool = True, **others: Any) -> dict[str, list[float]] | None:
        """The mean and std that timm's weights of this name were trained with (not always ImageNet's); None without."""
        import timm

        if not pretrained or not timm.is_model(name):
            return None
        known = timm.get_pretrained_cfg(name)
        return {"mean": list(known.mean), "std": list(known.std)} if known is not None else None
