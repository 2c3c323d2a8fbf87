"""Images as vectors of pixels."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from dml.data.packing import Packed

NUMBERS = 50_000_000  # pixels of all images together: 200 MB; more images are reduced further
SMALLEST = 4  # pixels of a side
CHUNK = 1024  # images


def pixels(packed: Packed, rows: np.ndarray, side: int) -> np.ndarray:
    """Reduced images as vectors, float32 (n, h w C), from 0 to 1, less the mean image.

    Parameters
    ----------
    side : of the longer side after the reduction; less, if all vectors would have more than `NUMBERS` numbers.
    """
    height, width, channels = packed.images.shape[1:]
    most = max(SMALLEST, int((NUMBERS / (len(rows) * channels)) ** 0.5))
    scale = min(1.0, min(side, most) / max(height, width))
    size = (max(1, round(height * scale)), max(1, round(width * scale)))
    out = np.empty((len(rows), size[0] * size[1] * channels), np.float32)
    for start in range(0, len(rows), CHUNK):
        images = np.array(packed.images[rows[start : start + CHUNK]])
        part = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
        if size != (height, width):
            part = functional.interpolate(part, size=size, mode="bilinear", antialias=True, align_corners=False)
        out[start : start + CHUNK] = part.flatten(1).numpy()
    out -= out.mean(axis=0, dtype=np.float64).astype(np.float32)
    return out
