"""Images as vectors of pixels."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from dml.data.packing import Packed
from dml.types import Views

NUMBERS = 50_000_000  # pixels of all images together: 200 MB; more images are reduced further
SMALLEST = 4  # pixels of a side
CHUNK = 1024  # images


def pixels(packed: Packed, rows: np.ndarray, side: int, views: Views = "one") -> np.ndarray:
    """Reduced images as vectors of their views, float32 (n, V, h w C), from 0 to 1, less the mean image of all views.

    Parameters
    ----------
    side : of the longer side after the reduction; less, if all vectors would have more than `NUMBERS` numbers.
    views : `one`, or `mirror`: the mirror image of each is a second view.
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
    together = out[:, None]
    if views == "mirror":
        mirrored = out.reshape(len(rows), channels, *size)[..., ::-1].reshape(out.shape)
        together = np.stack([out, mirrored], axis=1)
    together -= together.mean(axis=0, dtype=np.float64).mean(axis=0).astype(np.float32)
    return together
