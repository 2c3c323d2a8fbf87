"""The pictures of an audit's page, as `data:` addresses that fit a budget."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

Images = Callable[[np.ndarray], np.ndarray]  # rows (m,) -> uint8 (m, H, W, C)

BUDGET = 2_500_000  # characters of all pictures
# Pixels of the longer side, at most, and a JPEG's quality: of images to review, of suspects, of all others.
LEVELS = (
    ((320, 80), (160, 80), (96, 80)),
    ((256, 78), (128, 75), (80, 75)),
    ((224, 75), (128, 70), (72, 68)),
    ((192, 72), (112, 65), (64, 62)),
    ((160, 65), (96, 60), (56, 55)),
    ((128, 55), (80, 50), (48, 45)),
    ((96, 45), (64, 40), (40, 40)),
)
TRIED = 24  # pictures of a size from which a level's total is guessed
LOADED = 128  # images at a time
LOSSLESS = 64  # pixels of a side: up to here a PNG can be the smaller file


@dataclass(frozen=True)
class Album:
    """Pictures by image, in three sizes. All are empty if there are no images."""

    large: Mapping[int, str] = field(default_factory=dict)
    medium: Mapping[int, str] = field(default_factory=dict)
    small: Mapping[int, str] = field(default_factory=dict)
    reduced: int = 0  # pixels of the longer side of large pictures that were reduced for the budget; 0: none was


def album(images: Images | None, large: Sequence[int], medium: Sequence[int], small: Sequence[int]) -> Album:
    """The largest pictures whose total is about `BUDGET`, or the smallest ones.

    Parameters
    ----------
    large, medium, small : rows of images, as often as a page shows them.
    """
    if images is None:
        return Album()
    sizes = [np.asarray(rows, dtype=np.int64) for rows in (large, medium, small)]
    level = next((level for level in LEVELS if _total(images, sizes, level) <= BUDGET), LEVELS[-1])
    made: list[dict[int, str]] = [{}, {}, {}]
    longest = 0
    wanted = [set(rows.tolist()) for rows in sizes]
    for row, pixels in _load(images, np.unique(np.concatenate(sizes))):
        for size, (side, quality) in enumerate(level):
            if row in wanted[size]:
                made[size][row] = encode(pixels, side, quality)
                longest = max(longest, *pixels.shape[:2]) if size == 0 else longest
    reduced = level[0][0] if longest > level[0][0] < LEVELS[0][0][0] else 0
    return Album(made[0], made[1], made[2], reduced)


def encode(pixels: np.ndarray, side: int, quality: int) -> str:
    """An image, uint8 (H, W, 1 or 3), as a small JPEG or PNG, whichever is shorter."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    choices = {"jpeg": _bytes(image, "JPEG", quality=quality)}
    if max(image.size) <= LOSSLESS:
        choices["png"] = _bytes(image, "PNG")
    kind = min(choices, key=lambda name: len(choices[name]))
    return f"data:image/{kind};base64,{base64.b64encode(choices[kind]).decode()}"


def _bytes(image: Image.Image, kind: str, **settings: int) -> bytes:
    content = io.BytesIO()
    image.save(content, kind, optimize=True, **settings)
    return content.getvalue()


def _total(images: Images, sizes: Sequence[np.ndarray], level: Sequence[tuple[int, int]]) -> float:
    """About how many characters a level takes."""
    total = 0.0
    for rows, (side, quality) in zip(sizes, level, strict=True):
        if len(rows):
            some = np.unique(rows[np.linspace(0, len(rows) - 1, min(TRIED, len(rows))).astype(int)])
            total += len(rows) * float(
                np.mean([len(encode(pixels, side, quality)) for _, pixels in _load(images, some)])
            )
    return total


def _load(images: Images, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each image, checked.

    Raises
    ------
    ValueError : `images` returns something else than uint8 (m, H, W, 1 or 3).
    """
    for start in range(0, len(rows), LOADED):
        part = rows[start : start + LOADED]
        pixels = np.asarray(images(part))
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or len(pixels) != len(part) or pixels.shape[3] not in (1, 3):
            raise ValueError(
                f"images: for {len(part)} rows expected uint8 ({len(part)}, H, W, 1 or 3), "
                f"got {pixels.dtype} {pixels.shape}"
            )
        yield from zip(part.tolist(), pixels, strict=True)
