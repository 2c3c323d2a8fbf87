"""Embeddings of a data set, computed batch by batch, of one view of each image or of two (`views: mirror`).

Of two, it is the unit vector along the sum of both unit vectors, whichever way an image faces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dml.protocols import Augmentation
from dml.types import Views

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
BATCH = 512  # images embedded at once
CACHED = 2**21  # values of a batch of images on a CPU: larger batches are slower, since activations leave the cache


@torch.no_grad()
def embed(
    model: Callable[[Tensor], Tensor],
    batches: Iterable[Tensor],
    count: int,
    device: torch.device | str = "cpu",
    precision: str = "float32",
) -> Tensor:
    """Embed batches of images (b, ...) -> float32 (count, D) on `device` in their order, without waiting for it.

    A module runs in evaluation mode; afterwards each of its submodules is back in the mode it had. `precision` of the
    model's arithmetic: `float32`, or `bfloat16` or `float16` by autocast. Raises ValueError: an unknown precision; more
    or fewer images than `count`, or none; a model whose result is not (b, D).
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    device, kind = torch.device(device), PRECISIONS[precision]
    out: Tensor | None = None
    filled = 0
    with _evaluating(model):
        for images in batches:
            if filled + len(images) > count:
                raise ValueError(f"embed: got at least {filled + len(images)} images, expected {count}")
            with torch.autocast(device.type, dtype=kind, enabled=kind is not None):
                result = model(images.to(device, non_blocking=True))
            if result.ndim != 2 or len(result) != len(images):
                raise ValueError(f"embed: expected ({len(images)}, D) from the model, got {tuple(result.shape)}")
            if out is None:
                out = torch.empty(count, result.shape[1], device=device)
            out[filled : filled + len(images)] = result
            filled += len(images)
    if out is None or filled != count:
        raise ValueError(f"embed: got {filled} images, expected {max(count, 1)}")
    return out


def embed_images(
    model: nn.Module,
    images: Any,
    rows: np.ndarray | None = None,
    *,
    augment: Augmentation,
    device: torch.device | str = "cpu",
    precision: str = "float32",
    batch: int | None = None,
    views: Views = "one",
) -> Tensor:
    """Embed images of an array in evaluation mode, without random augmentation -> float32 (m, D) on `device`.

    Parameters
    ----------
    model : float images (b, C, H, W) on `device` -> embeddings (b, D). Its modes are restored afterwards.
    images : uint8 (N, H, W, C): an array, a mapped file, or any object that returns such an array for an array of rows.
    rows : int64 (m,), the images to embed, in this order; None: all N.
    augment : prepares each batch, uint8 (b, C, H, W), with `training=False`.
    batch : images embedded at once; None: 512, or fewer large images on a CPU.
    precision, views : see `embed` and `of_views`.
    """
    chosen = np.arange(len(images)) if rows is None else np.asarray(rows)
    if batch is None:
        values = math.prod(images[chosen[:1]].shape[1:])
        batch = BATCH if torch.device(device).type != "cpu" else min(BATCH, max(1, CACHED // values))
    parts = (chosen[start : start + batch] for start in range(0, len(chosen), batch))
    batches = (torch.from_numpy(np.ascontiguousarray(images[part])).permute(0, 3, 1, 2) for part in parts)

    def embed_batch(pixels: Tensor) -> Tensor:
        return model(augment(pixels, training=False, generator=None))

    with torch.inference_mode(), _evaluating(model):
        return embed(of_views(embed_batch, views), batches, len(chosen), device, precision)


def of_views(model: Callable[[Tensor], Tensor], views: Views) -> Callable[[Tensor], Tensor]:
    """What embeds batches of images (b, C, H, W): `model` for `one` view of each, or with `mirror` both, joined."""
    return model if views == "one" else lambda images: joined([model(images), model(images.flip(-1))])


def joined(embeddings: Sequence[Tensor]) -> Tensor:
    """The unit vectors float32 (..., D) along the sum of the unit vectors of each view, float (..., D)."""
    units = [functional.normalize(view.float(), dim=-1) for view in embeddings]
    return functional.normalize(torch.stack(units).sum(dim=0), dim=-1)


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Run a module in evaluation mode, then restore the mode of each submodule: a batch norm may be frozen."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modes = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
