"""A batch of tensors: what losses, miners and filters accept, and rows of unit length."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

P = ParamSpec("P")
R = TypeVar("R")

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WHOLE = tuple(getattr(torch, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))


def may_look(tensor: Tensor) -> bool:
    """Whether the tensor's values may decide what is computed next: it is on the host, and no graph is being traced."""
    if torch.compiler.is_compiling():
        return False
    return tensor.device.type == "cpu" and type(tensor) in (Tensor, nn.Parameter)  # a subclass may have no values


def check_dense(name: str, value: object) -> None:
    """Raise a ValueError unless `value` is a tensor with one number at each place."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{name}: expected a torch.Tensor, got {type(value).__name__}")
    if value.is_nested or value.layout != torch.strided:
        raise ValueError(f"{name}: expected a dense tensor, got {'nested' if value.is_nested else value.layout}")


def checked_labels(embeddings: Tensor, labels: Tensor, prefix: str = "") -> Tensor:
    """Labels as int64 (N,) in one piece on the embeddings' device, without waiting for a GPU.

    Raises a ValueError, which begins with `prefix`, unless embeddings are floats (N, D) and labels integers (N,).
    """
    for name, value in (("embeddings", embeddings), ("labels", labels)):
        check_dense(f"{prefix}{name}", value)
    if embeddings.ndim != 2 or embeddings.dtype not in FLOATS:
        came = f"{tuple(embeddings.shape)} {embeddings.dtype}"
        raise ValueError(f"{prefix}embeddings: expected (N, D) of float16, bfloat16, float32 or float64, got {came}")
    if labels.shape != embeddings.shape[:1] or labels.dtype not in (*WHOLE, torch.bool):
        came = f"{tuple(labels.shape)} {labels.dtype}"
        raise ValueError(f"{prefix}labels: expected integers ({len(embeddings)},), got {came}")
    device = embeddings.device
    return labels.to(device, torch.int64, non_blocking=device.type != "cpu").contiguous()


def check_mask(name: str, mask: Tensor, *shape: int) -> None:
    """Raise a ValueError unless `mask` is a dense bool tensor of this shape."""
    check_dense(name, mask)
    if mask.dtype != torch.bool or mask.shape != shape:
        raise ValueError(f"{name}: expected bool {shape}, got {mask.dtype} {tuple(mask.shape)}")


def checked_rows(size: int, device: torch.device, *lists: Tensor) -> list[Tensor]:
    """Lists of rows of a batch that belong together, int64 (T,) on `device`; -1 in all of them is padding.

    An empty list may be of any type. Of an empty batch all lists are empty, without their padding.

    Raises
    ------
    ValueError : other shapes or types; rows outside of the batch of this size, unless the lists are on a GPU.
    """
    shapes = [tuple(rows.shape) for rows in lists]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1 or any(rows.dtype not in WHOLE and len(rows) for rows in lists):
        types = ", ".join(str(rows.dtype).removeprefix("torch.") for rows in lists)
        raise ValueError(f"tuples: expected lists of rows, int (T,) of one length; got {types} of {shapes}")
    if shapes[0][0] and all(map(may_look, lists)):
        every = torch.stack([rows.to(torch.int64) for rows in lists])
        low, high = every.aminmax()
        if low < 0 or high >= size:
            wrong = ((every < -1) | (every >= size) | ((every < 0) != (every[0] < 0))).any(0)
            if wrong.any():
                raise ValueError(
                    f"tuples: expected rows of the batch, 0 to {size - 1}, or padding, which is -1 in all places of a "
                    f"tuple; got {tuple(every[:, wrong][:, 0].tolist())}"
                )
    moved = [rows.to(device=device, dtype=torch.int64) for rows in lists]
    return moved if size else [rows[:0] for rows in moved]


def without_autocast(function: Callable[P, R]) -> Callable[P, R]:
    """The function, run in the precision of its inputs where autocast is on."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
            return function(*args, **kwargs)

    return run


def from_array(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory; a copy if the array is read-only, which tensors cannot be."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def unit_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (N, D) divided by their length, and 1 / length (N, 1). A zero row stays zero, with 1 / length = 0.

    So does a row of subnormal numbers, whose 1 / length may be infinite.
    """
    # Scaling by the largest entry first keeps the squares of very small and very large rows representable.
    largest = x.abs().amax(1, keepdim=True) if x.shape[1] else x.new_zeros(len(x), 1)
    zero = largest < torch.finfo(x.dtype).tiny
    scale = largest.add_(zero).reciprocal_()
    x = x * scale
    length = x.square().sum(1, keepdim=True).sqrt_().add_(zero)
    return x.div_(length), scale.div_(length).mul_(~zero)


def directions(x: Tensor) -> Tensor:
    """Rows (N, D), without a graph, divided by their length, at any scale. A zero row stays zero, as in `unit_rows`.

    Where `F.normalize` is right, rows have its bits, which differ from those of `unit_rows` in the last place.
    """
    length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    divided = x / length.clamp_min(1e-12)
    is_exact = (length >= 1e-12) & (length < torch.inf)
    return divided if may_look(x) and is_exact.all() else torch.where(is_exact, divided, unit_rows(x)[0])


class Ring(nn.Module):
    """The latest samples: a batch's kept ones replace the oldest.

    Nothing has a shape that depends on the data, so nothing waits for the device. A sample that is not kept is written
    to a row beyond the ring, which nothing reads. Of a batch with more kept samples than entries, only the last stay.

    Parameters
    ----------
    entries : M, samples that the ring holds. size : D, of the embeddings. dtype : of the embeddings.

    Attributes
    ----------
    rows : (M + 1, D). labels : int64 (M + 1,). written : int64, 0-d, samples so far.
    """

    rows: Tensor
    labels: Tensor
    written: Tensor

    def __init__(self, entries: int, size: int, dtype: torch.dtype = torch.float32):
        super().__init__()
        self.entries = entries
        self.register_buffer("rows", torch.zeros(entries + 1, size, dtype=dtype))
        self.register_buffer("labels", torch.full((entries + 1,), -1, dtype=torch.int64))
        self.register_buffer("written", torch.zeros((), dtype=torch.int64))

    @property
    def held(self) -> Tensor:
        """Which entries contain a sample, bool (M,)."""
        return torch.arange(self.entries, device=self.rows.device) < self.written

    def places(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Where a batch's samples go, int64 (N,), and which of them stay, bool (N,), of those to keep, bool (N,)."""
        kept = kept & (kept.flip(0).cumsum(0).flip(0) <= self.entries)
        return torch.where(kept, (self.written + kept.cumsum(0) - 1) % self.entries, self.entries), kept

    def put(self, places: Tensor, kept: Tensor, embeddings: Tensor, labels: Tensor) -> None:
        """Write embeddings (N, D) and labels (N,) to what `places` gave."""
        self.rows[places] = embeddings  # several rows may go beyond the ring: any of them stays there
        self.labels[places] = labels
        self.written += kept.sum()
