"""Stored features and activations as a trial's input."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor


class FeatureRows:
    """Stands in the place of an augmentation: stored features -> float32, unchanged."""

    version: ClassVar[int] = 1  # of the protocol; a trial's key contains that of the recipe
    image_size: int | None = None

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """float (B, D, 1, V) of V views -> float32 (B, D) of the first."""
        return images[..., 0].flatten(1).float()


class StoredViews:
    """Stands in the place of packed images: each has the activations or features of one of its views, as one pixel.

    Indexing gives view 0, which is augmented as in evaluation: rows (m,) -> (m, 1, 1, D), D numbers a view. Those of
    the mirror image are a second pixel, (m, 1, 2, D): as of an image, exchanging columns gives the mirror image.

    Parameters
    ----------
    array : float16 or float32 (n, views, ...), mapped.
    mirrored : of the mirror images, (n, 1, ...); None: they are not asked for.
    """

    def __init__(self, array: np.ndarray, mirrored: np.ndarray | None = None):
        self._array = array.reshape(*array.shape[:2], -1)
        self._columns = [self._array] if mirrored is None else [self._array, mirrored.reshape(len(array), 1, -1)]
        self.views, self.one = array.shape[1], array.shape[2:]
        self.shape = (len(array), 1, len(self._columns), math.prod(self.one))

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return np.stack([column[rows, 0] for column in self._columns], axis=1)[:, None]

    def random(self, rows: np.ndarray, generator: torch.Generator) -> np.ndarray:
        """A random view of each of some images: rows (m,) -> (m, 1, 1, D)."""
        chosen = torch.randint(self.views, (len(rows),), generator=generator).numpy()
        return self._array[rows, chosen][:, None, None]


class Activations:
    """Stands in the place of an augmentation: rows of `StoredViews` -> float32 activations.

    Parameters
    ----------
    shape : of the activations of one view, (C, H, W).
    """

    version: ClassVar[int] = 1  # as of `FeatureRows`
    image_size: int | None = None

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """float (B, D, 1, V) -> float32 (B, C, H, W) of the first of V views, `channels_last`, in which CPUs convolve
        faster."""
        layout = torch.channels_last if len(self._shape) == 3 else torch.contiguous_format
        return images[..., 0].reshape(len(images), *self._shape).to(torch.float32, memory_format=layout)
