"""Applies a trained model to image files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image
from rich.console import Console
from rich.progress import track

from dml.data import raw
from dml.data.packing.decoding import CorruptImage, decode, resize
from dml.data.packing.streaming import ordered
from dml.data.sources._table import USUAL
from dml.data.sources._vectors import SUFFIXES as FILES
from dml.data.sources._vectors import check_finite, read_vectors
from dml.files import read_json
from dml.tables import is_table, read_rows
from dml.training.model_files import TrainedEmbedder

BATCH = 128  # images
ROWS = 8192  # vectors


class Embedded(NamedTuple):
    """Vectors of image files."""

    paths: list[Path]
    vectors: np.ndarray  # float32 (N, D)


def image_files(places: Iterable[Path]) -> list[Path]:
    """Files as given, and the images below folders, in the order of names. Prints what is left out of a folder.

    Raises
    ------
    ValueError : a place does not exist, there are no images, or the name of one is not UTF-8.
    """
    places, found = list(places), []
    for place in places:
        if not place.exists():
            raise ValueError(f"{place}: no such file or folder")
        inside = raw.image_files(place) if place.is_dir() else raw.ImageFiles([raw.check_text(place)], "")
        found += inside.paths
        if inside.left_out:
            print(f"{place}: {inside.left_out}", file=sys.stderr)
    if not found:
        raise ValueError(f"{', '.join(map(str, places))}: no images ({', '.join(raw.images.suffixes())})")
    return found


def embed_files(model: Path, paths: Sequence[Path], skip_corrupt: bool = False) -> Embedded:
    """Embed image files, resized as the model's training images were. Shows a progress bar on stderr.

    Parameters
    ----------
    model : the folder of a trained model.
    skip_corrupt : leave out files that cannot be decoded, and print how many.

    Raises
    ------
    ValueError : a file cannot be decoded, or the model does not take images.
    """
    embedder = TrainedEmbedder(model)
    described = read_json(model / "model.json") or {}
    shape, how = described.get("image_shape"), described.get("resize")
    if not isinstance(shape, list) or len(shape) != 3:
        raise ValueError(f"{model}: this model does not take images (image_shape is {shape!r})")
    height, width, channels = shape

    def read(path: Path) -> np.ndarray | str:
        try:
            image = decode(path, channels)
            return resize(image, how) if how else _resized(image, height, width)
        except CorruptImage as error:
            return f"{path}: {error}"

    pixels = ordered(read, paths, os.cpu_count() or 1)
    shown = track(pixels, "embedding", len(paths), console=Console(stderr=True), disable=not sys.stderr.isatty())
    kept, parts, corrupt = [], [], []
    for batch in _batches(zip(paths, shown, strict=True)):
        corrupt += [image for _, image in batch if isinstance(image, str)]
        if corrupt and not skip_corrupt:
            raise ValueError(f"{corrupt[0]} (--skip-corrupt leaves such files out)")
        good = [(path, image) for path, image in batch if not isinstance(image, str)]
        if good:
            kept += [path for path, _ in good]
            parts.append(embedder(np.stack([image for _, image in good])))
    if not parts:
        raise ValueError(f"none of {len(paths)} images can be decoded, such as {corrupt[0]}")
    if corrupt:
        print(f"{len(corrupt)} left out, such as {corrupt[0]}", file=sys.stderr)
    return Embedded(kept, np.concatenate(parts))


def takes_vectors(model: Path) -> bool:
    """Whether a trained model takes vectors in place of images."""
    shape = (read_json(model / "model.json") or {}).get("image_shape")
    return isinstance(shape, list) and len(shape) == 1


def embed_rows(model: Path, places: Sequence[Path]) -> Embedded:
    """As `embed_vectors`, each row under the path or text that its table, or a `.csv` beside the file, says."""
    vectors, (path, *_) = embed_vectors(model, places), places
    table = path if is_table(path) else path.with_suffix(".csv")
    rows = read_rows(table)[0] if table.is_file() else pd.DataFrame(index=range(len(vectors)))
    column = next((name for name in ("path", *USUAL["path"]) if name in rows), None)
    if column is None or len(rows) != len(vectors):
        return Embedded([Path(f"row {row}") for row in range(len(vectors))], vectors)
    return Embedded([Path(str(name)) for name in rows[column]], vectors)


def embed_vectors(model: Path, places: Sequence[Path]) -> np.ndarray:
    """Embed the vectors of one file: float32 (N, D).

    Raises
    ------
    ValueError : no file of vectors, or several; or vectors of another size than the model takes, infinity or NaN.
    """
    embedder = TrainedEmbedder(model)
    (size,), (path, *others) = embedder.shape, places
    if others or path.suffix.lower() not in FILES:
        got = ", ".join(map(str, places))
        raise ValueError(
            f"this model takes vectors of {size} numbers: expected one file ({', '.join(FILES)}), got {got}"
        )
    vectors = read_vectors(path)
    if vectors.shape[1] != size:
        raise ValueError(f"{path}: expected vectors of {size} numbers, got {vectors.shape[1]}")
    check_finite(path, vectors)
    starts = range(0, len(vectors), ROWS)
    return np.concatenate([embedder(np.asarray(vectors[i : i + ROWS], dtype=np.float32)) for i in starts])


def _resized(image: Image.Image, height: int, width: int) -> np.ndarray:
    """uint8 (height, width, C), resized as packing does."""
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(image)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _batches(items: Iterable[tuple[Path, np.ndarray | str]]) -> Iterator[list[tuple[Path, np.ndarray | str]]]:
    items = iter(items)
    while batch := list(islice(items, BATCH)):
        yield batch
