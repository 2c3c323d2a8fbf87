"""Vectors in a `.npy` file, read in parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

SHOWN = 10  # bad rows in a message


@dataclass(frozen=True)
class Rows:
    """Vectors (n, D), float16, float32 or float64, or as packed data has them (n, 1, 1, D).

    The file is mapped for each read and released after it, so pages that have been read do not count as this process's
    memory.

    Parameters
    ----------
    path : the file.
    normalize : L2-normalise each row. A zero vector stays zero.

    Raises
    ------
    ValueError : the file is not such an array.
    """

    path: Path
    normalize: bool = True

    def __post_init__(self) -> None:
        shape, kind = self._mapped.shape, self._mapped.dtype
        if kind.kind != "f" or len(shape) not in (2, 4) or shape[1:-1] not in ((), (1, 1)) or 0 in shape:
            raise ValueError(
                f"{self.path}: expected floats (n, D) with at least one row and column, got {kind} {shape}"
            )

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """(n, D)."""
        shape = self._mapped.shape
        return shape[0], shape[-1]

    @property
    def _mapped(self) -> np.ndarray:
        return np.load(self.path, mmap_mode="r")

    def read(self, rows: np.ndarray | slice, dtype: type = np.float32) -> np.ndarray:
        """Some rows, (b, D), in `dtype` (float32 or float64), normalised if asked.

        Raises
        ------
        ValueError : a row contains NaN, infinity, or numbers whose squares float64 cannot hold; the message lists rows.
        """
        kind = np.float64 if dtype is np.float64 else np.float32
        part: np.ndarray = np.array(self._mapped[rows], dtype=kind).reshape(-1, self.shape[1])
        norms: np.ndarray = np.sqrt(np.square(part, dtype=np.float64).sum(1))
        if not np.isfinite(norms).all():
            named = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
            bad = named[~np.isfinite(norms)].tolist()
            shown = ", ".join(map(str, bad[:SHOWN])) + (", ..." if len(bad) > SHOWN else "")
            raise ValueError(f"{self.path}: {len(bad)} of {len(part)} rows hold NaN or infinity: {shown}")
        if self.normalize:
            part /= np.where(norms > 0, norms, 1)[:, None].astype(part.dtype)
        return part

    def slices(self, size: int) -> list[slice]:
        """The rows in parts of `size`."""
        return [slice(start, min(start + size, len(self))) for start in range(0, len(self), size)]
