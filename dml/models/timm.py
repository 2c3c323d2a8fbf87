"""Any network of timm without its classifier (`timm` is part of the `pipeline` extra)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import torch
from torch import nn

from dml.models._weights import State, WeightsFile, load, problems_of
from dml.models._wrapped import IMAGENET, Wrapped, check_package, width_of
from dml.types import Resize

DEFAULT = "resnet50"


class Timm(Wrapped):
    """images (N, C, H, W) -> (N, features), after timm's own pooling.

    Parameters
    ----------
    channels : C of the images.
    image_size : side of the images. A network that takes one size only is built for this one: timm resamples the
        position embeddings of its weights. None: the size of timm's weights.
    name : a name from `timm.list_models()`, such as `inception_v3` or `vit_small_patch16_224`.
    pretrained : load timm's weights, which timm downloads once.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded.
    weights : a file of weights in place of timm's (`.safetensors`, `.pth`, `.pt`), with timm's names or those of the
        network's authors that timm knows, with or without the classifier. All must fit; timm adapts position embeddings
        to the size of the images, and the first convolution to other channels than 3.
    mean, std : of the pixels, from 0 to 1, that the weights expect: a number or one for each channel. None: those of
        timm's weights of this name, also for weights from a file; ImageNet's if timm has none.
    arguments : further arguments of timm's constructor, such as `{pad_type: same}`.
    """

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ("timm",)

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
        arguments: Mapping[str, Any] | None = None,
    ):
        self.check_installed({"name": name})
        import timm  # an optional dependency

        label, config = f"backbone 'timm': {name}", timm.get_pretrained_cfg(name)
        settings = {"num_classes": 0, "in_chans": channels, **(arguments or {})}
        side = image_size or settings.get("img_size") or (config.input_size[-1] if config else 224)
        if config and config.fixed_input_size and "img_size" not in settings:
            sized = {**settings, "img_size": side}
            if not _takes(name, settings, side) and _takes(name, sized, side):
                settings = sized
        try:
            network = _created(name, pretrained and weights is None, settings)
        except (TypeError, RuntimeError, AssertionError) as error:
            raise ValueError(f"{label}: arguments {arguments}: {error}") from error
        if weights is not None:
            load(network, weights, _names(network, "classifier"), lambda state: _adapt(name, state, network, channels))
        super().__init__(network, label, channels, side, frozen_batch_norm)

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """Returns `channels`: timm adapts the first convolution, and its weights."""
        return channels

    @classmethod
    def trained_on(cls, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Those of timm's weights of this name; ImageNet's for weights from a file, if timm has none."""
        if (config := _config(settings.get("name", DEFAULT))) is not None:
            return {"mean": config.mean, "std": config.std}
        return None if settings.get("weights") is None else IMAGENET

    @classmethod
    def resized_to(cls, settings: Mapping[str, Any]) -> Resize | None:
        """Those of timm's weights of this name, if they are of a square size."""
        config = _config(settings.get("name", DEFAULT))
        if config is None or config.input_size[-1] != config.input_size[-2]:
            return None
        side = (settings.get("arguments") or {}).get("img_size", config.input_size[-1])
        return Resize(side, config.interpolation, config.crop_pct)

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Raise a ValueError if timm is missing, or has no network of this name."""
        check_package("timm", "backbone 'timm'", extra="pipeline")
        import timm

        name = str(settings.get("name", DEFAULT))
        if not timm.is_model(name):
            close = ", ".join(timm.list_models(f"*{name.split('.')[0][:6]}*")[:10])
            raise ValueError(f"backbone 'timm': unknown name {name!r}. Close: {close or 'see timm.list_models()'}")


def _config(name: str) -> Any:
    """What timm states of its weights of this name; None for an unknown name."""
    import timm

    return timm.get_pretrained_cfg(name) if timm.is_model(name) else None


def _takes(name: str, settings: Mapping[str, Any], side: int) -> bool:
    """Whether a network with these settings takes square images. Builds it without memory for its weights."""
    import timm

    try:
        with torch.device("meta"):
            network = timm.create_model(name, pretrained=False, **settings)
        width_of(network, name, settings["in_chans"], side, side)
    except Exception:  # the network that is built says why
        return False
    return True


def _created(name: str, pretrained: bool, settings: Mapping[str, Any]) -> nn.Module:
    """timm's network. Weights that were downloaded before are read without asking the hub, as every trial would."""
    import timm

    if not pretrained:
        return timm.create_model(name, pretrained=False, **settings)
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        return timm.create_model(name, pretrained=True, **settings)
    except OSError:  # not downloaded yet
        pass
    finally:
        constants.HF_HUB_OFFLINE = before
    try:
        return timm.create_model(name, pretrained=True, **settings)
    except OSError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"backbone 'timm': {name}: its weights are not on this machine, and the hub did not give them ({reason}): "
            "connect once, or name a file (`weights`)"
        ) from error


def _names(network: nn.Module, kind: str) -> tuple[str, ...]:
    """The modules that timm's configuration of a network calls `classifier` or `first_conv`."""
    names = getattr(network, "pretrained_cfg", {}).get(kind) or ()
    return (names,) if isinstance(names, str) else tuple(names)


def _adapt(name: str, state: State, network: nn.Module, channels: int) -> State:
    """Weights of other names, sizes or channels for a network, as timm adapts its own."""
    import timm

    expected = network.state_dict()
    if not problems_of(expected, state):
        return state
    module = sys.modules[timm.models.model_entrypoint(name).__module__]
    convert = getattr(module, "checkpoint_filter_fn", getattr(module, "_filter_fn", None))
    if convert is not None:
        with suppress(Exception):  # of weights of another network: what does not fit is named afterwards
            state = convert(dict(state), network)
    adapted = dict(state)
    for key in (f"{module}.weight" for module in _names(network, "first_conv")):
        if key in expected and key in state and expected[key].shape[1] != state[key].shape[1] == 3:
            adapted[key] = timm.models.adapt_input_conv(channels, state[key])
    return adapted
