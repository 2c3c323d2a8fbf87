"""Images that are decoded when their rows are requested, behind the same `images[rows]` as the packed array."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from dml.data import DataError
from dml.data.packing.decoding import CorruptImage, How, decode, resize


class LazyImages:
    """uint8 (N, H, W, C), decoded on access; no pixels are kept in memory.

    Parameters
    ----------
    files : one path per image.
    shape : (N, H, W, C).
    how : the `resize` of `pack`; None: all images have the size (H, W).
    workers : decoding threads.
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(self, files: list[str], shape: tuple[int, ...], how: How, workers: int = 4) -> None:
        assert len(files) == shape[0], (len(files), shape)
        self.files, self.shape, self.how, self.workers = files, shape, how, workers
        self._pool: ThreadPoolExecutor | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """`rows`: an int -> (H, W, C); a slice, a list or an array of ints or bools -> (n, H, W, C)."""
        positions = np.arange(len(self))[rows]
        if positions.ndim == 0:
            return self._read(int(positions))
        out = np.empty((len(positions), *self.shape[1:]), np.uint8)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.workers)
        for place, pixels in enumerate(self._pool.map(self._read, positions.tolist())):
            out[place] = pixels
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyImages, (self.files, self.shape, self.how, self.workers)

    def _read(self, position: int) -> np.ndarray:
        path = self.files[position]
        try:
            pixels = resize(decode(Path(path), self.shape[3]), self.how)
        except CorruptImage as error:
            raise DataError(f"{path}: {error}; the image was valid when it was packed") from error
        if pixels.shape != self.shape[1:]:
            raise DataError(f"{path}: the size is {pixels.shape}, packed as {self.shape[1:]}; pack again")
        return pixels
