"""The suspects as a page shows them: what they are called, what they look like, and their neighbours."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from PIL import Image

from dml.audit import Audit, neighbours


def nearest(vectors: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other images of some rows int (q,) by cosine among vectors (n, D): int64 rows, float32 cosines.

    Both are (q, k), the nearest first; k is smaller if there are not as many others.
    """
    k, space = min(k, len(vectors) - 1), torch.from_numpy(np.array(vectors, dtype=np.float32))
    blocks = list(neighbours.nearest(space, torch.arange(len(space)), k + 1, torch.from_numpy(rows)))
    near, cosine = torch.cat([block.rows for block in blocks]), torch.cat([block.cosine for block in blocks])
    itself = near == torch.from_numpy(rows)[:, None]
    others = itself.int().argsort(dim=1, stable=True)[:, :k]  # the image itself, if it is there, is the last
    return near.gather(1, others).numpy(), cosine.gather(1, others).numpy()


def nearest_by_fold(
    vectors: Sequence[np.ndarray], folds: np.ndarray, rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """As `nearest`, but the neighbours of each image are those in the vectors of its fold."""
    k = min(k, len(folds) - 1)
    near, cosines = np.zeros((len(rows), k), dtype=np.int64), np.zeros((len(rows), k), dtype=np.float32)
    for fold, space in enumerate(vectors):
        positions = np.flatnonzero(folds[rows] == fold)
        if len(positions):
            near[positions], cosines[positions] = nearest(space, rows[positions], k)
    return near, cosines


MOST = 100  # suspects on a page
NEIGHBOURS = 5  # of each


@dataclass(frozen=True)
class Near:
    """A neighbour."""

    row: int
    name: str
    given: str
    similarity: float  # cosine
    agrees: bool  # with the suspect's given label
    duplicate: bool  # so similar that it is a near-duplicate


@dataclass(frozen=True)
class Suspect:
    """An image whose label is probably wrong."""

    row: int
    name: str
    given: str
    suggested: str
    wrong: float  # the chance
    near: tuple[Near, ...]
    answer: str  # of an earlier review; "": none


def suspects(
    audit: Audit,
    vectors: np.ndarray | Sequence[np.ndarray],
    name: Callable[[int], str],
    answers: Mapping[int, str],
    folds: np.ndarray | None = None,
) -> list[Suspect]:
    """The most suspicious images, `MOST` at most, the worst first.

    Parameters
    ----------
    vectors : floats (n, D), of which neighbours are the nearest.
    name, answers : what an image is called by its row; right, wrong or unsure by its row.
    folds : int64 (n,), the fold of each image, if there are vectors for each fold. They were learned and map the images
        of a class to nearly one point, so that none is called a near-duplicate.
    """
    rows = np.flatnonzero(audit.suspects())
    rows = rows[np.argsort(-audit.score[rows], kind="stable")][:MOST]
    if not len(rows):
        return []
    if folds is None:
        others, cosines = nearest(np.asarray(vectors), rows, NEIGHBOURS)
        duplicate = float(audit.settings["duplicates"])
    else:
        others, cosines = nearest_by_fold(list(vectors), folds, rows, NEIGHBOURS)
        duplicate = np.inf

    def near(row: int, other: int, cosine: float) -> Near:
        same = bool(audit.labels[other] == audit.labels[row])
        return Near(other, name(other), str(audit.labels[other]), cosine, same, cosine >= duplicate)

    return [
        Suspect(
            row,
            name(row),
            str(audit.labels[row]),
            str(audit.suggested[row]),
            float(audit.wrong[row]),
            tuple(near(row, *pair) for pair in zip(others[i].tolist(), cosines[i].tolist(), strict=True)),
            answers.get(row, ""),
        )
        for i, row in enumerate(rows.tolist())
    ]


Images = Callable[[np.ndarray], np.ndarray]  # rows (m,) -> uint8 (m, H, W, C)

PIXELS = (3_500_000, 1_000_000, 1_400_000)  # of all large, medium and small pictures: about 3 MB in all
LONGEST = (320, 160, 96)  # pixels of the longer side, at most,
SHORTEST = 40  # and at least
QUALITY = 65
LOADED = 128  # images at a time
LOSSLESS = 32  # pixels of the longer side: smaller images are kept without loss


@dataclass(frozen=True)
class Album:
    """Pictures by image, in three sizes. All are empty if there are no images."""

    large: Mapping[int, str] = field(default_factory=dict)
    medium: Mapping[int, str] = field(default_factory=dict)
    small: Mapping[int, str] = field(default_factory=dict)


def album(images: Images | None, large: Sequence[int], medium: Sequence[int], small: Sequence[int]) -> Album:
    """Pictures that are the smaller, the more there are."""
    if images is None:
        return Album()
    sizes = [np.asarray(rows, dtype=np.int64) for rows in (large, medium, small)]
    sides = [
        int(np.clip((pixels / max(1, len(rows))) ** 0.5, SHORTEST, longest))
        for rows, pixels, longest in zip(sizes, PIXELS, LONGEST, strict=True)
    ]
    made: list[dict[int, str]] = [{}, {}, {}]
    for row, pixels in _load(images, np.unique(np.concatenate(sizes))):
        for pictures, rows, side in zip(made, sizes, sides, strict=True):
            if row in rows:
                pictures[row] = encode(pixels, side)
    return Album(*made)


def encode(pixels: np.ndarray, side: int) -> str:
    """An image, uint8 (H, W, 1 or 3), as a PNG if it is small, else as a WebP."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    kind = "png" if max(image.size) <= LOSSLESS else "webp"
    content = io.BytesIO()
    image.save(content, kind.upper(), optimize=True, quality=QUALITY)
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"


def _load(images: Images, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for start in range(0, len(rows), LOADED):
        part = rows[start : start + LOADED]
        pixels = np.asarray(images(part))
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or len(pixels) != len(part) or pixels.shape[3] not in (1, 3):
            raise ValueError(
                f"images: for {len(part)} rows expected uint8 ({len(part)}, H, W, 1 or 3), "
                f"got {pixels.dtype} {pixels.shape}"
            )
        yield from zip(part.tolist(), pixels, strict=True)
