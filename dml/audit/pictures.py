"""The suspects as a page shows them: what they are called, what they look like, and their neighbours."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image, features

from dml.audit import Audit

CHUNK = 1 << 24  # numbers of the similarities, and of the gallery, that are in memory at a time


def nearest(vectors: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other images by cosine, the nearest first.

    Parameters
    ----------
    vectors : floats (n, D), not copied as a whole.
    rows : int (q,), the images whose neighbours are wanted.
    k : at least 1; images are fewer if there are not as many others.

    Returns
    -------
    int64 (q, k) rows and float32 (q, k) cosines.
    """
    k = min(k, len(vectors) - 1)
    queries = _unit(vectors[rows])
    found = np.zeros((len(rows), 0), dtype=np.int64)
    cosines = np.zeros((len(rows), 0), dtype=np.float32)
    step = max(k + 1, CHUNK // max(1, len(rows), vectors.shape[1]))
    for start in range(0, len(vectors), step):
        block = _unit(vectors[start : start + step])
        places = np.arange(start, start + len(block))
        similar = queries @ block.T
        similar[rows[:, None] == places[None, :]] = -np.inf
        best = np.argpartition(-similar, min(k, len(block)) - 1, axis=1)[:, :k]
        found = np.concatenate([found, places[best]], axis=1)
        cosines = np.concatenate([cosines, np.take_along_axis(similar, best, axis=1)], axis=1)
        order = np.lexsort((found, -cosines), axis=1)[:, :k]
        found, cosines = np.take_along_axis(found, order, axis=1), np.take_along_axis(cosines, order, axis=1)
    return found, cosines


def nearest_by_fold(
    vectors: Sequence[np.ndarray], folds: np.ndarray, rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """As `nearest`, but the neighbours of each image are those in the vectors of its fold.

    Parameters
    ----------
    vectors : of each fold, floats (n, D).
    folds : int64 (n,), the fold of each image.
    """
    k = min(k, len(folds) - 1)
    found, cosines = np.zeros((len(rows), k), dtype=np.int64), np.zeros((len(rows), k), dtype=np.float32)
    for fold, space in enumerate(vectors):
        places = np.flatnonzero(folds[rows] == fold)
        if len(places):
            found[places], cosines[places] = nearest(space, rows[places], k)
    return found, cosines


def _unit(vectors: np.ndarray) -> np.ndarray:
    block = np.asarray(vectors, dtype=np.float32)
    return block / np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-12)


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
    found: Audit,
    vectors: np.ndarray | Sequence[np.ndarray],
    name: Callable[[int], str],
    answers: Mapping[int, str],
    folds: np.ndarray | None = None,
) -> list[Suspect]:
    """The most suspicious images, `MOST` at most, the worst first.

    Parameters
    ----------
    vectors : floats (n, D), of which neighbours are the nearest.
    name : a row -> what the image is called.
    answers : a row -> right, wrong or unsure.
    folds : int64 (n,), the fold of each image, if there are vectors for each fold. They were learned and map the images
        of a class to nearly one point, so that none is called a near-duplicate.
    """
    chosen = np.flatnonzero(found.suspects())
    rows = chosen[np.argsort(-found.score[chosen], kind="stable")][:MOST]
    if not len(rows):
        return []
    if folds is None:
        places, cosines = nearest(np.asarray(vectors), rows, NEIGHBOURS)
        duplicate = float(found.settings["duplicates"])
    else:
        places, cosines = nearest_by_fold(list(vectors), folds, rows, NEIGHBOURS)
        duplicate = np.inf

    def near(row: int, place: Any, cosine: Any) -> Near:
        same = bool(found.labels[place] == found.labels[row])
        close = float(cosine)
        return Near(int(place), name(int(place)), str(found.labels[place]), close, same, close >= duplicate)

    return [
        Suspect(
            int(row),
            name(int(row)),
            str(found.labels[row]),
            str(found.suggested[row]),
            float(found.wrong[row]),
            tuple(near(row, place, cosine) for place, cosine in zip(places[i], cosines[i], strict=True)),
            answers.get(int(row), ""),
        )
        for i, row in enumerate(rows)
    ]


Images = Callable[[np.ndarray], np.ndarray]  # rows (m,) -> uint8 (m, H, W, C)
Level = Sequence[tuple[int, int]]  # a side and a quality for each size

BUDGET = 2_600_000  # characters of all pictures,
SMALL = 0.45  # of which those of suspects and of all others may take so much
# Pixels of the longer side, at most, and the quality.
LARGE_SIZES = ((320, 75), (288, 72), (256, 72), (224, 70), (192, 70), (160, 65), (128, 60), (96, 50), (80, 40))
SMALL_SIZES = (
    ((160, 72), (96, 70)),
    ((144, 68), (80, 65)),
    ((128, 65), (64, 60)),
    ((96, 60), (48, 50)),
    ((64, 45), (40, 40)),
)
TRIED = 24  # pictures of a size from which a total is guessed
LOADED = 128  # images at a time
LOSSLESS = 1000  # characters: an image that takes no more without loss is kept so
LOSSLESS_SIDE = 64  # pixels; larger ones are not tried


@dataclass(frozen=True)
class Album:
    """Pictures by image, in three sizes. All are empty if there are no images."""

    large: Mapping[int, str] = field(default_factory=dict)
    medium: Mapping[int, str] = field(default_factory=dict)
    small: Mapping[int, str] = field(default_factory=dict)
    reduced: int = 0  # pixels of the longer side of large pictures that were reduced for the budget; 0: none was


def album(images: Images | None, large: Sequence[int], medium: Sequence[int], small: Sequence[int]) -> Album:
    """The largest pictures whose total is about `BUDGET`, or the smallest ones.

    Sizes are chosen by what `TRIED` of the pictures take.

    Parameters
    ----------
    large, medium, small : rows of images, as often as a page shows them.
    """
    if images is None:
        return Album()
    sizes = [np.asarray(rows, dtype=np.int64) for rows in (large, medium, small)]
    others = _fitting(images, sizes[1:], SMALL_SIZES, SMALL * BUDGET)
    rest = BUDGET - _total(images, sizes[1:], others)
    level = (*_fitting(images, sizes[:1], [(size,) for size in LARGE_SIZES], rest), *others)
    made: list[dict[int, str]] = [{}, {}, {}]
    longest = 0
    wanted = [set(rows.tolist()) for rows in sizes]
    for row, pixels in _load(images, np.unique(np.concatenate(sizes))):
        for size, (side, quality) in enumerate(level):
            if row in wanted[size]:
                made[size][row] = encode(pixels, side, quality)
                longest = max(longest, *pixels.shape[:2]) if size == 0 else longest
    reduced = level[0][0] if longest > level[0][0] < LARGE_SIZES[0][0] else 0
    return Album(made[0], made[1], made[2], reduced)


def encode(pixels: np.ndarray, side: int, quality: int) -> str:
    """An image, uint8 (H, W, 1 or 3), as a PNG if that is short, else as a WebP.

    Where Pillow was built without WebP it is a JPEG, which takes up to twice as much.
    """
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    if max(image.size) <= LOSSLESS_SIDE and len(uri := _uri(image, "png")) <= LOSSLESS:
        return uri
    return _uri(image, "webp" if features.check("webp") else "jpeg", quality=quality)


def _uri(image: Image.Image, kind: str, **settings: int) -> str:
    content = io.BytesIO()
    image.save(content, kind.upper(), optimize=True, **settings)
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"


def _fitting(images: Images, sizes: Sequence[np.ndarray], levels: Sequence[Level], budget: float) -> Level:
    """The first level whose total is within a budget, or the last one."""
    return next((level for level in levels if _total(images, sizes, level) <= budget), levels[-1])


def _total(images: Images, sizes: Sequence[np.ndarray], level: Level) -> float:
    """About how many characters a level takes."""
    total = 0.0
    for rows, (side, quality) in zip(sizes, level, strict=True):
        if len(rows):
            some = np.unique(rows[np.linspace(0, len(rows) - 1, min(TRIED, len(rows))).astype(int)])
            lengths = [len(encode(pixels, side, quality)) for _, pixels in _load(images, some)]
            total += len(rows) * float(np.mean(lengths))
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
