"""Write a .npy file image by image."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np


class PackWriter:
    """Writes a uint8 .npy file image by image, and sets the number of images at the end.

    The header has the same length for any smaller number of images, since NumPy pads it for arrays that grow.

    Parameters
    ----------
    shape : (N, H, W, C), N the largest number of images.
    """

    def __init__(self, path: Path, shape: tuple[int, ...]) -> None:
        self.path, self.shape, self.count = path, shape, 0

    def __enter__(self) -> PackWriter:
        self.file = open(self.path, "wb", buffering=2**20)
        self._header(self.shape[0])
        self._start = self.file.tell()
        return self

    def write(self, pixels: bytes) -> None:
        """Append one image's pixels."""
        self.count += 1
        self.file.write(pixels)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None and self.count != self.shape[0]:
                self.file.seek(0)
                self._header(self.count)
                assert self.file.tell() == self._start
        finally:
            self.file.close()

    def _header(self, count: int) -> None:
        header = {"descr": "|u1", "fortran_order": False, "shape": (count, *self.shape[1:])}
        np.lib.format.write_array_header_1_0(self.file, header)
