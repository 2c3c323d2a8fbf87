"""A dataset of Hugging Face's library `datasets`, on disk or on the hub (the extra `hub`).

    path: data/birds          a folder that `save_to_disk` wrote, or a folder of Parquet files; or one Parquet file
    path: owner/name          a dataset on the hub, downloaded once

Splits become roles by their names and classes, as folders of `imagefolder` do (`_splits.py`). With a single split,
classes are split in the order of their numbers: the last `test_share` of them test, the others train. Parquet files are
of the split that their names say (`train-00000.parquet`, `test/0.parquet`): all of them, or none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml import discovery
from dml.data import DataError
from dml.data.raw import files_below, state_of
from dml.data.sources._files import SourceDefaults
from dml.data.sources._splits import by_classes, kind_of, roles_of_splits
from dml.data.sources._table import labels
from dml.discovery import installed
from dml.files import first_line
from dml.settings import check_choice, check_within

SAVED = ("dataset_dict.json", "state.json")  # one of these files is in a folder that `save_to_disk` wrote
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


def choose(parts: Mapping[str, Any], stated: Mapping[str, str | None], where: str) -> Columns:
    """The columns that a study names, else those whose type or name is that of images or labels. Raises DataError."""
    import datasets

    features = next(iter(parts.values())).features
    for option, column in stated.items():
        if column is not None and column not in features:
            raise DataError(f"{where}: {option}: no column {column!r}{discovery.suggestion(column, features)}")
    kinds = {"image": datasets.Image, "label": datasets.ClassLabel}
    columns, guessed = {}, []
    for option, kind in kinds.items():
        column = stated[option]
        if column is None:
            free = [name for name in features if name not in stated.values()]
            column = _guess(free, [name for name in free if isinstance(features[name], kind)], NAMES[option])
            if column is None:
                raise DataError(
                    f"{where}: which column contains the {option}s? Name it with `settings: {{{option}: ...}}`. "
                    f"Choices: {', '.join(features)}"
                )
            guessed.append(
                f"column {column!r} is taken for the {option}s (`settings: {{{option}: ...}}` names another)"
            )
        columns[option] = column
    return Columns(columns["image"], columns["label"], stated["coarse"], tuple(guessed))


def _guess(names: list[str], typed: list[str], likely: tuple[str, ...]) -> str | None:
    """The only column of the type; else that with the likeliest name, of the type if there are some."""
    if len(typed) == 1:
        return typed[0]
    return next((name for name in likely if name in (typed or names)), None)


def numbered(parts: Mapping[str, Any], column: str, where: str) -> tuple[list[int], list[str]]:
    """The labels of all splits as numbers and names. Raises DataError: a missing or negative label, or no column."""
    import datasets

    values, rows, named, kinds = [], [], [], []
    for name, part in parts.items():
        if column not in part.features:
            raise DataError(f"{where}: {name}: no column {column!r}{discovery.suggestion(column, part.features)}")
        stored = part.with_format(None)[column][:]
        if isinstance(kind := part.features[column], datasets.ClassLabel):
            unlabelled = [row for row, value in enumerate(stored) if value is None or value < 0]
            if unlabelled:
                raise DataError(
                    f"{where}: {name}: row {unlabelled[0]}: {column} is missing, as in {len(unlabelled)} of "
                    f"{len(stored)} rows: leave this split out with `settings: {{splits: [...]}}`"
                )
            named += [kind.int2str(int(value)) for value in stored]
        values += stored
        kinds.append(kind)
        rows += [f"{where}: {name}: row {row}" for row in range(len(stored))]
    if all(isinstance(kind, datasets.ClassLabel) for kind in kinds):
        if all(kind.names == kinds[0].names for kind in kinds):
            return [int(value) for value in values], named
        return labels(named, column, rows)  # each split numbers its own classes: only names say which are the same
    return labels(values, column, rows)


def as_image(value: Any, root: Path, where: str) -> Path | bytes | np.ndarray:
    """A stored image as packing takes it, of bytes, a path in `root`, `{bytes, path}` or nested lists."""
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


class Huggingface(SourceDefaults):
    """Images and labels of one or more splits.

    Parameters
    ----------
    path : a folder, a Parquet file, or the name of a dataset on the hub.
    config : which of the dataset's configurations, if it has several.
    revision : of a dataset on the hub; None: the newest when it is downloaded.
    image, label : the columns; None: guessed from types and names, and reported.
    coarse : the column of coarse labels, if there is one.
    splits : the splits that are read; None: all.
    test_share : share of the classes that test, if only one split is read.
    disjoint : the level whose classes train or test as a whole, `fine` or `coarse`.
    """

    version: ClassVar[int] = 2
    name: ClassVar[str] = "huggingface"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    own_labels: ClassVar[bool] = True

    def __init__(
        self,
        path: str,
        config: str | None = None,
        revision: str | None = None,
        image: str | None = None,
        label: str | None = None,
        coarse: str | None = None,
        splits: Sequence[str] | None = None,
        test_share: float = 0.5,
        disjoint: str = "fine",
    ) -> None:
        check_within("test_share", test_share, 0, 1)
        check_choice("disjoint", disjoint, ("fine", "coarse"))
        if disjoint == "coarse" and coarse is None:
            raise ValueError("disjoint: 'coarse', but the option coarse names no column")
        self.path, self.config, self.revision = str(path), config, revision
        self._wanted = {"image": image, "label": label, "coarse": coarse}
        self.splits, self.test_share, self.disjoint = splits, test_share, disjoint
        self._where = f"huggingface: {self.path}"
        self.options: dict[str, Any] = {"path": self.path, "config": config, "revision": revision, **self._wanted}
        self.options |= {"splits": splits, "test_share": test_share, "disjoint": disjoint}

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Load the dataset, from the hub if it is there. Reports guessed columns and the splits. Raises DataError."""
        parts = self._load(raw)
        columns = choose(parts, self._wanted, self._where)
        for line in columns.guessed:
            report(f"{self._where}: {line}")
        records = pd.DataFrame(list(self._labels(parts, columns)))
        report(f"{self._where}: {len(records)} images in {', '.join(parts)}")
        if len(parts) > 1:
            report(roles_of_splits(records, self.disjoint, self._where).text)

    def fingerprint(self, raw: Path) -> str | None:
        """Changes when a file of a dataset on disk is added, removed or rewritten; None for one of the hub."""
        place = Path(self.path)
        if not place.exists():
            return None
        digest = hashlib.sha256()
        for path in sorted(files_below(place)) if place.is_dir() else [place]:
            digest.update(state_of(path).encode())
        return digest.hexdigest()

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records in the order of splits and rows."""
        parts = self._load(raw)
        columns = choose(parts, self._wanted, self._where)
        labels = self._labels(parts, columns)
        root = Path(self.path).parent if Path(self.path).is_file() else Path(self.path)  # of paths in a table
        for name, part in parts.items():
            for row, value in enumerate(columns.undecoded(part)):
                where = f"{self._where}: {name}: row {row}"
                yield {**next(labels), "image": as_image(value, root, f"{where}: {columns.image}")}

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """By splits if there are several, else by classes."""
        if index["part"].nunique() > 1:
            return roles_of_splits(index, self.disjoint, self._where).roles
        return by_classes(index[self.disjoint].to_numpy(), self.test_share)

    def _labels(self, parts: Mapping[str, Any], columns: Columns) -> Iterator[dict[str, Any]]:
        """The records of all images, without the images."""
        labels_by_level = {}
        for level, column in (("fine", columns.label), ("coarse", columns.coarse)):
            if column is not None:
                labels_by_level[level] = numbered(parts, column, self._where)
        position = 0
        for name, part in parts.items():
            for row in range(len(part)):
                record: dict[str, Any] = {"path": f"{name}/{row:06d}", "part": name}
                for level, (numbers, names) in labels_by_level.items():
                    record |= {level: numbers[position], f"{level}_name": names[position]}
                yield record
                position += 1

    def _load(self, raw: Path) -> dict[str, Any]:
        """The splits by name."""
        if not installed("datasets"):
            raise DataError("source huggingface needs the library datasets: pip install 'noisy-dml[hub]'")
        import datasets

        place = Path(self.path)
        if not place.exists() and (self.path.startswith((".", "/", "~")) or self.path.count("/") > 1):
            raise DataError(f"huggingface: path is {self.path!r}, which does not exist (from {Path.cwd()})")
        try:
            if place.is_dir() and any((place / name).is_file() for name in SAVED):
                loaded = datasets.load_from_disk(self.path)
            elif place.exists():
                files = {"train": [self.path]} if place.is_file() else _by_split(place, self._where)
                loaded = datasets.load_dataset("parquet", data_files=files, cache_dir=str(raw / "cache"))
            else:
                options = {"name": self.config, "revision": self.revision, "cache_dir": str(raw / "cache")}
                loaded = datasets.load_dataset(self.path, **options)
        except DataError:
            raise
        except Exception as error:  # the libraries of the hub raise errors of many kinds
            reason = first_line(error)
            if place.exists():
                raise DataError(f"{self._where}: cannot be read: {reason}") from error
            raise DataError(
                f"huggingface: {self.path!r} is no folder here, and could not be loaded from the hub: {reason}. Check "
                "the name and the network; or save the dataset elsewhere with `save_to_disk`, copy the folder here and "
                "set `settings: {path: <folder>}`"
            ) from error
        parts = dict(loaded) if isinstance(loaded, dict) else {"all": loaded}
        for name in self.splits or ():
            if name not in parts:
                raise DataError(f"{self._where}: no split {name!r}. Choices: {', '.join(parts)}")
        return {name: part for name, part in parts.items() if self.splits is None or name in self.splits}


def _by_split(folder: Path, where: str) -> dict[str, list[str]]:
    """The Parquet files in a folder by the split that their names say; all under `train` if none says one."""
    splits: dict[str, list[str]] = {}
    for path in files_below(folder):
        if path.suffix.lower() == ".parquet":
            words = re.split("[^a-z]+", path.relative_to(folder).as_posix().lower())
            splits.setdefault(next(filter(None, map(kind_of, words)), ""), []).append(str(path))
    if not splits:
        raise DataError(
            f"{where}: expected a folder that `save_to_disk` wrote, or one of Parquet files; the source imagefolder "
            "reads folders of images"
        )
    unnamed = splits.pop("", [])
    if splits and unnamed:
        raise DataError(f"{where}: {unnamed[0]}: its name says no split, and others say {', '.join(splits)}")
    return splits or {"train": unnamed}
