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
        """float (B, D, 1, 1) -> float32 (B, D)."""
        return images.flatten(1).float()


class StoredViews:
    """Stands in the place of packed images: each has the activations of one of its views, as one pixel.

    Indexing gives view 0, which is augmented as in evaluation: rows (m,) -> (m, 1, 1, D), D numbers a view.

    Parameters
    ----------
    array : float16 or float32 (n, views, C, H, W), mapped.
    """

    def __init__(self, array: np.ndarray):
        self._array = array.reshape(*array.shape[:2], -1)
        self.views, self.one = array.shape[1], array.shape[2:]
        self.shape = (len(array), 1, 1, math.prod(self.one))

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self._array[rows, 0][:, None, None]

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
        """float (B, D, 1, 1) -> float32 (B, C, H, W), `channels_last`, in which CPUs convolve faster."""
        layout = torch.channels_last if len(self._shape) == 3 else torch.contiguous_format
        return images.reshape(len(images), *self._shape).to(torch.float32, memory_format=layout)
