"""Another pooling of a backbone's last maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from dml.discovery import suggestion
from dml.models._wrapped import black, inside
from dml.protocols import Backbone

POOLINGS = ("average", "max", "both", "gem")
SPACES = ((4, (2, 3)), (4, (1, 2)), (3, (1,)))  # dimensions and places of (N, C, H, W), (N, H, W, C) and (N, T, C)
SINGLE = (1, (1, 1), [1, 1])  # sizes of a result that is one number a channel


class Pooling(nn.Module):
    """maps (N, C, H, W) -> (N, C).

    Parameters
    ----------
    name : `average`; `max`; `both`, their sum (Proxy-Anchor, Kim et al. 2020); or `gem`, the generalised mean
        (mean x^p)^(1/p) of positive parts, with a learned p that starts at 3 (Radenovic et al., TPAMI 2019, eq. 3).

    Raises
    ------
    ValueError : an unknown name; the message lists the choices.
    """

    def __init__(self, name: str):
        super().__init__()
        if name not in POOLINGS:
            raise ValueError(f"pooling: unknown name {name!r}{suggestion(name, POOLINGS)}")
        self.name = name
        self.p = nn.Parameter(torch.tensor(3.0)) if name == "gem" else None

    def forward(self, maps: Tensor, places: tuple[int, ...] = (2, 3)) -> Tensor:
        """`places` : the dimensions of space, such as (1, 2) of maps (N, H, W, C), or (1,) of tokens (N, T, C)."""
        if self.p is not None:
            maps = maps.clamp(min=1e-6)
            maps = maps.to(self.p.dtype) if maps.dtype == torch.float16 else maps  # 1e-6 cubed is 0 in float16
            powers = maps.pow(self.p).mean(places).pow(1 / self.p)
            return powers.clone()  # since dropout may change it in place, and the gradient needs it
        found = maps.mean(places) if self.name in ("average", "both") else torch.zeros((), device=maps.device)
        return found + maps.amax(places) if self.name in ("max", "both") else found


class Means(TorchFunctionMode):
    """Gives each mean over the space of maps, or over tokens, to a function, the result of which takes its place."""

    def __init__(self, replace: Callable[[Tensor, tuple[int, ...], Tensor], Tensor]):
        super().__init__()
        self._replace = replace

    def __torch_function__(self, function: Any, types: Any, inputs: Any = (), options: Any = None) -> Any:
        result, places = function(*inputs, **(options or {})), None
        given = dict(zip(("input", "dim"), inputs, strict=False)) | (options or {})
        if function in (torch.mean, Tensor.mean):
            places = given.get("dim")
        elif function is functional.adaptive_avg_pool2d and given.get("output_size", given.get("dim")) in SINGLE:
            places = (2, 3)
        if not isinstance(places, int | tuple | list):
            return result
        maps = given["input"]
        places = tuple(place % maps.ndim for place in ((places,) if isinstance(places, int) else places))
        return self._replace(maps, places, result) if (maps.ndim, places) in SPACES else result


class Repooled(nn.Module):
    """images (N, C, H, W) -> (N, features): a backbone with another pooling in place of its last mean over space.

    Parameters
    ----------
    shape : (C, H, W) of the images.

    Raises
    ------
    ValueError : the features depend on more of an image than one mean over its maps or tokens.
    """

    inner = "backbone"

    def __init__(self, backbone: Backbone, pooling: str, shape: Sequence[int]):
        super().__init__()
        self.backbone, self.features, self.pooling = backbone, backbone.features, Pooling(pooling)
        self._waits, image = False, black(backbone, shape).requires_grad_()
        returned: list[nn.Module] = [nn.Identity()]
        before = returned[-1]  # the last mean is the first one after this module has returned

        def remember(maps: Tensor, places: tuple[int, ...], mean: Tensor) -> Tensor:
            nonlocal before
            before = returned[-1]
            return mean

        hooks = [part.register_forward_hook(lambda part, *_: returned.append(part)) for part in self.modules()]
        with Means(remember):
            self.eval().backbone(image)
        for hook in hooks:
            hook.remove()
        before.register_forward_hook(self._wait)
        pooled: list[Tensor] = []

        def cut(part: nn.Module, inputs: Any, result: Tensor) -> Tensor:
            pooled.append(result)
            return result.detach()

        hook = self.pooling.register_forward_hook(cut)
        with torch.enable_grad():
            result = self(image).sum()
            beside = torch.autograd.grad(result, image, allow_unused=True)[0] if result.requires_grad else None
        hook.remove()
        if len(pooled) != 1 or beside is not None:
            name = type(inside(backbone)).__name__
            raise ValueError(f"pooling: the backbone {name} pools no maps last: remove pooling")

    def _wait(self, *_: Any) -> None:
        self._waits = True

    def _pool(self, maps: Tensor, places: tuple[int, ...], mean: Tensor) -> Tensor:
        """The pooling of maps, if it is time, in place of their mean."""
        if not self._waits:
            return mean
        self._waits = False
        return self.pooling(maps, places).view_as(mean)

    def forward(self, images: Tensor) -> Tensor:
        with Means(self._pool):
            return self.backbone(images)
