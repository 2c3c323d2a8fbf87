"""The embeddings as all of the evaluation uses them: checked, on one device, in two precisions.

Searches and clusterings run over `working`: float32, of unit length or centred. `exact` decides near ties.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dml.tables import host_array
from dml.tensors import check_dense, from_array, unit_rows

CHUNK = 1 << 22  # numbers in one temporary array
SHORT = 1e-150  # rows whose squares float64 cannot represent
FLOAT32_MAX = float(np.finfo(np.float32).max)


class Vectors:
    """Embeddings float (n, D), a tensor or an array, checked and prepared.

    Float64 embeddings keep their precision until they are normalised or centred. `normalize`: compare directions, not
    points; a zero vector stays zero. `device`: where to compute; None: where the embeddings are. Raises ValueError: not
    floats (n, D), no rows or columns, or rows with NaN, infinity or numbers beyond float32, which it lists.
    """

    def __init__(self, embeddings: Any, normalize: bool = True, device: torch.device | str | None = None) -> None:
        given = _floats(embeddings)
        if 0 in given.shape:
            raise ValueError(f"embeddings: expected at least one row and one column, got {tuple(given.shape)}")
        precision = torch.float64 if given.dtype == torch.float64 else torch.float32
        self.given = given.to(device=device, dtype=precision).contiguous()
        self.normalize = normalize
        self.scale: Tensor | None = None
        self.working = torch.empty(self.given.shape, device=self.device)
        total = torch.zeros(self.given.shape[1], dtype=torch.float64, device=self.device)
        norms = torch.empty(len(self.given), dtype=torch.float64, device=self.device)
        scale = torch.empty_like(norms)
        step = max(1, CHUNK // self.given.shape[1])
        slices = [slice(start, start + step) for start in range(0, len(self.given), step)]
        for rows in slices:
            part = self.given[rows].double()
            norms[rows] = torch.linalg.vector_norm(part, dim=1)
            if precision is torch.float64:
                norms[rows].masked_fill_(part.abs().amax(1) > FLOAT32_MAX, torch.inf)
            if normalize:
                scale[rows] = torch.where(norms[rows] > 0, norms[rows], 1.0).reciprocal()
                short = norms[rows] < SHORT
                if short.any():
                    scale[rows] = torch.where(short, unit_rows(part)[1][:, 0], scale[rows])
                part = part * scale[rows][:, None]
                self.working[rows] = part
            total += part.sum(0)
        bad = (~norms.isfinite()).nonzero()[:, 0].tolist()
        if bad:
            shown = ", ".join(map(str, bad[:10])) + (", ..." if len(bad) > 10 else "")
            raise ValueError(f"embeddings: {len(bad)} of {len(given)} rows hold NaN or infinity: {shown}")
        self.mean = mean = total / len(self.given)
        if normalize:
            self.scale = scale
        else:
            centre = mean.to(precision)
            for rows in slices:
                self.working[rows] = self.given[rows] - centre
        # Float64 products of nearly collapsed embeddings need an origin nearby. It has few bits, so grids stay exact.
        grid = 2.0 ** (mean.abs().max().clamp(min=1e-300).log2().floor() - 8)
        self.origin = (mean / grid).round() * grid
        self.squares = torch.linalg.vector_norm(self.working, dim=1).square()

    def __len__(self) -> int:
        return len(self.given)

    @property
    def device(self) -> torch.device:
        """The device of the vectors."""
        return self.given.device

    @cached_property
    def tolerance(self) -> float:
        """Two squared distances of `working` that differ by more than this are in the true order."""
        return self._unit * max(float(self.squares.max()), 1e-30)

    def tolerance_within(self, rows: Tensor, reach: Tensor) -> Tensor:
        """The tolerance (b, 1) for vectors within squared distances `reach` (b,) of `rows`, int64 (b,)."""
        within = 8 * (self.squares[rows] + reach.clamp(min=0))
        return (self._unit * within).clamp(max=self.tolerance)[:, None]

    @property
    def _unit(self) -> float:
        unit = 2.0**-24
        if self.device.type == "cuda" and torch.get_float32_matmul_precision() != "highest":
            unit = 2.0**-11  # TF32 or bfloat16 products
        return 16.0 * unit * self.given.shape[1] ** 0.5

    def exact(self, first: Tensor, second: Tensor) -> Tensor:
        """Squared distances, float64 (t,), between the rows `first` and `second`, int64 (t,)."""
        step = max(1, CHUNK // self.given.shape[1])
        out = torch.empty(len(first), dtype=torch.float64, device=self.device)
        for start in range(0, len(first), step):
            a, b = first[start : start + step], second[start : start + step]
            out[start : start + step] = (self.double(a) - self.double(b)).square().sum(1)
        return out

    def centred(self) -> Tensor:
        """The differences from the mean, float32 (n, D)."""
        out, step = torch.empty_like(self.working), max(1, CHUNK // self.given.shape[1])
        for start in range(0, len(self), step):
            out[start : start + step] = self.double(slice(start, start + step)) - self.mean
        return out

    def double(self, rows: Tensor | slice) -> Tensor:
        """Some rows in float64, normalised if the vectors are."""
        chosen = self.given[rows].double()
        return chosen if self.scale is None else chosen * self.scale[rows][:, None]


def _floats(embeddings: Any) -> Tensor:
    """Embeddings as a tensor of their own precision on their own device. Raises a ValueError unless floats (n, D)."""
    if isinstance(embeddings, Tensor):
        check_dense("embeddings", embeddings)
        if embeddings.ndim == 2 and embeddings.is_floating_point():
            return embeddings.detach()
        raise ValueError(f"embeddings: expected floats (n, D), got {embeddings.dtype} {tuple(embeddings.shape)}")
    array = np.ascontiguousarray(host_array(embeddings, "embeddings"))
    if array.ndim != 2 or array.dtype.kind != "f":
        raise ValueError(f"embeddings: expected floats (n, D), got {array.dtype} {array.shape}")
    return from_array(array if array.itemsize <= 8 else array.astype(np.float64))


def codes(labels: Any, n: int, what: str) -> np.ndarray:
    """Labels as consecutive codes from 0, int64 (n,). `what` begins the error message. Raises ValueError."""
    array = host_array(labels, what)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(f"{what}: expected integers ({n},), got {array.dtype} {array.shape}")
    return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(-1)
