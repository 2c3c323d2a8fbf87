"""The columns of a dataset of the library `datasets`: which contain images and labels, and what their values are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dml import discovery
from dml.data import DataError
from dml.data.sources._labels import labels

NAMES = {
    "image": ("image", "img", "images", "picture", "photo", "jpg", "png", "bytes", "file", "path"),
    "label": ("label", "labels", "fine_label", "fine", "class", "target", "category", "species", "identity", "pid"),
}
"""Names by which a column is guessed, the likeliest first."""


@dataclass(frozen=True)
class Columns:
    """The names of columns, and what to tell the user of those that were guessed."""

    image: str
    label: str
    coarse: str | None
    guessed: tuple[str, ...]

    def undecoded(self, part: Any) -> Iterator[Any]:
        """The values of a split's images, as they are stored."""
        import datasets

        images = part.select_columns([self.image])
        if isinstance(part.features[self.image], datasets.Image):
            images = images.cast_column(self.image, datasets.Image(decode=False))
        return (row[self.image] for row in images)


def choose(features: Mapping[str, Any], wanted: Mapping[str, str | None], where: str) -> Columns:
    """The columns that a study names, else those whose type or name is that of images or labels.

    Parameters
    ----------
    features : the types of the columns by name.
    wanted : the options `image`, `label` and `coarse`.

    Raises
    ------
    DataError : there is no such column, or none can be guessed; the message lists the columns.
    """
    import datasets

    for option, column in wanted.items():
        if column is not None and column not in features:
            raise DataError(f"{where}: {option}: no column {column!r}{discovery.suggestion(column, features)}")
    kinds = {"image": datasets.Image, "label": datasets.ClassLabel}
    found, guessed = {}, []
    for option, kind in kinds.items():
        column = wanted[option]
        if column is None:
            free = [name for name in features if name not in wanted.values()]
            column = _guess(free, [name for name in free if isinstance(features[name], kind)], NAMES[option])
            if column is None:
                raise DataError(
                    f"{where}: which column contains the {option}s? Name it with `settings: {{{option}: ...}}`. "
                    f"Choices: {', '.join(features)}"
                )
            guessed.append(
                f"column {column!r} is taken for the {option}s (`settings: {{{option}: ...}}` names another)"
            )
        found[option] = column
    return Columns(found["image"], found["label"], wanted["coarse"], tuple(guessed))


def _guess(names: list[str], typed: list[str], known: tuple[str, ...]) -> str | None:
    """The only column of the type; else that with the likeliest name, of the type if there are some."""
    if len(typed) == 1:
        return typed[0]
    return next((name for name in known if name in (typed or names)), None)


def numbered(parts: Mapping[str, Any], column: str, where: str) -> tuple[list[int], list[str]]:
    """The labels of all splits as numbers and names.

    Raises
    ------
    DataError : a label is missing or not a number of at least 0; or a split has no such column.
    """
    import datasets

    values, rows, named, kinds = [], [], [], []
    for name, part in parts.items():
        if column not in part.features:
            raise DataError(f"{where}: {name}: no column {column!r}{discovery.suggestion(column, part.features)}")
        own = part.with_format(None)[column][:]
        if isinstance(kind := part.features[column], datasets.ClassLabel):
            unlabelled = [row for row, value in enumerate(own) if value is None or value < 0]
            if unlabelled:
                raise DataError(
                    f"{where}: {name}: row {unlabelled[0]}: {column} is missing, as in {len(unlabelled)} of "
                    f"{len(own)} rows: leave this split out with `settings: {{splits: [...]}}`"
                )
            named += [kind.int2str(int(value)) for value in own]
        values += own
        kinds.append(kind)
        rows += [f"{where}: {name}: row {row}" for row in range(len(own))]
    if all(isinstance(kind, datasets.ClassLabel) for kind in kinds):
        if all(kind.names == kinds[0].names for kind in kinds):
            return [int(value) for value in values], named
        return labels(named, column, rows)  # each split numbers its own classes: only names say which are the same
    if any(isinstance(kind, datasets.ClassLabel) for kind in kinds):
        raise DataError(f"{where}: column {column!r} has names of classes in some splits and others in the rest")
    return labels(values, column, rows)


def as_image(value: Any, root: Path, where: str) -> Path | bytes | np.ndarray:
    """A stored image as packing takes it: encoded bytes, a file, or an array.

    Parameters
    ----------
    value : `{bytes, path}`, bytes, a path relative to `root`, or nested lists of numbers from 0 to 255.

    Raises
    ------
    DataError : it is something else.
    """
    if isinstance(value, Mapping) and {"bytes", "path"} & set(value):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return root / value
    array = np.asarray(value) if isinstance(value, list | np.ndarray) else np.empty(0)
    if array.ndim not in (2, 3) or array.dtype.kind not in "iu" or array.min() < 0 or array.max() > 255:
        raise DataError(f"{where}: expected an image (encoded, a path, or numbers from 0 to 255), got {value!r:.80}")
    return array.astype(np.uint8)
