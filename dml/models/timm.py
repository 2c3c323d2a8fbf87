"""Any network of timm, its classifier taken off (`timm` is part of the `pipeline` extra)."""

from __future__ import annotations

from torch import Tensor, nn

from dml.models._frozen import freeze_batch_norm


class Timm(nn.Module):
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
        super().__init__()
        import timm  # not needed by any other part of dml

        if not timm.is_model(name):
            close = ", ".join(timm.list_models(f"*{name.split('.')[0][:6]}*")[:10])
            raise ValueError(f"backbone 'timm': unknown name {name!r}. Close: {close or 'see timm.list_models()'}")
        self.network = timm.create_model(name, pretrained=pretrained, num_classes=0, in_chans=channels)
        self.features = self.network.num_features
        self.frozen_batch_norm = frozen_batch_norm
        self.train()

    def train(self, mode: bool = True) -> Timm:
        super().train(mode)
        if self.frozen_batch_norm:
            freeze_batch_norm(self.network)
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self.network(images)
