"""The arrays that a snapshot's figures are drawn from: `figures.npz`, and pictures as strips, `pictures-<name>.png`.

Equal arrays give equal bytes. A strip shows all pictures of a dataset below each other, so that a reader of the
repository sees which pictures it contains.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from dml.files import replacing

FIGURES, STRIP = "figures.npz", "pictures-{}.png"
FIELD = "thumbnails"  # `pictures/all/<dataset>/thumbnails` is a strip


def write(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a snapshot's arrays. Without arrays, it has no such files.

    Parameters
    ----------
    arrays : by `<figure>/<key>/<set>/<field>`; thumbnails are uint8 (n, h, w, 3).
    """
    for old in _written(folder):
        old.unlink(missing_ok=True)
    strips = {name: array for name, array in arrays.items() if name.endswith(f"/{FIELD}")}
    for name, array in strips.items():
        with replacing(folder / STRIP.format(name.split("/")[2])) as temporary:
            Image.fromarray(_grey(array.reshape(-1, *array.shape[2:]))).save(temporary, "PNG", optimize=True)
    if arrays:
        heights = {f"{name}/height": np.array(array.shape[1]) for name, array in strips.items()}
        rest = {name: array for name, array in arrays.items() if name not in strips} | heights
        with replacing(folder / FIGURES) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **{name: rest[name] for name in sorted(rest)})  # type: ignore[arg-type]


def read(folder: Path) -> dict[str, np.ndarray]:
    """What `write` was given; nothing if the snapshot has no such files.

    Raises
    ------
    OSError, ValueError : a file is missing or broken.
    """
    if not (folder / FIGURES).is_file():
        return {}
    with np.load(folder / FIGURES, allow_pickle=False) as file:
        arrays = dict(file)
    for name in [name for name in arrays if name.endswith(f"/{FIELD}/height")]:
        height, strip = int(arrays.pop(name)), name.removesuffix("/height")
        with Image.open(folder / STRIP.format(strip.split("/")[2]), formats=("PNG",)) as image:
            pixels = np.asarray(image.convert("RGB"))
        arrays[strip] = pixels.reshape(-1, height, *pixels.shape[1:])
    return arrays


def _written(folder: Path) -> list[Path]:
    """The files of an earlier call."""
    if not (folder / FIGURES).is_file():
        return []
    with np.load(folder / FIGURES, allow_pickle=False) as file:
        strips = [name.split("/")[2] for name in file.files if name.endswith(f"/{FIELD}/height")]
    return [folder / FIGURES, *(folder / STRIP.format(name) for name in strips)]


def _grey(pixels: np.ndarray) -> np.ndarray:
    """(h, w) if the channels of pixels (h, w, 3) are equal, which takes a third of the space."""
    return pixels[..., 0] if (pixels == pixels[..., :1]).all() else pixels
