"""A dataset of Hugging Face's library `datasets`, on disk or on the hub (the extra `hub`).

    path: data/birds          a folder that `save_to_disk` wrote; or a folder of Parquet files or of images, as
                              `load_dataset` reads it; or one Parquet file
    path: owner/name          a dataset on the hub, downloaded once

Splits become roles by their names and classes, as folders of `imagefolder` do (`_splits.py`). With a single split,
classes are split in the order of their numbers: the last `test_share` of them test, the others train.

`load_dataset` reads files of one kind, and if some names say `test`, `train`, `dev`, ..., only those that do. A folder
that it would read in part is an error (`_hub.py`), unless the option `splits` or `config`, or the folder's README,
says what is wanted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import files_below
from dml.data.sources import _hub
from dml.data.sources._files import SourceDefaults
from dml.data.sources._hub import Columns, as_image, choose, numbered
from dml.data.sources._splits import by_classes, roles_of
from dml.discovery import installed


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
        if not 0 <= test_share <= 1:
            raise ValueError(f"test_share: expected a number from 0 to 1, got {test_share!r}")
        if disjoint not in ("fine", "coarse"):
            raise ValueError(f"disjoint: {disjoint!r}. Choices: fine, coarse")
        if disjoint == "coarse" and coarse is None:
            raise ValueError("disjoint: 'coarse', but the option coarse names no column")
        self.path, self.config, self.revision = str(path), config, revision
        self._wanted = {"image": image, "label": label, "coarse": coarse}
        self.splits, self.test_share, self.disjoint = splits, test_share, disjoint
        self._where = f"huggingface: {self.path}"
        self._chosen = splits is not None or config is not None  # then a part of a folder is what is wanted
        self.options: dict[str, Any] = {"path": self.path, "config": config, "revision": revision, **self._wanted}
        self.options |= {"splits": splits, "test_share": test_share, "disjoint": disjoint}

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Load the dataset, downloading it if it is on the hub. Reports guessed columns and what the splits are.

        Raises
        ------
        DataError : `datasets` is not installed; there is no such dataset, split or column; the hub is out of reach; or
            a split has classes that train and others that do not.
        """
        parts = self._load(raw)
        columns = self._columns(parts)
        for line in columns.guessed:
            report(f"{self._where}: {line}")
        records = pd.DataFrame(list(self._labels(parts, columns)))
        report(f"{self._where}: {len(records)} images in {', '.join(parts)}")
        if len(parts) > 1:
            report(self._split(records).text)

    def fingerprint(self, raw: Path) -> str | None:
        """Changes when a file of a dataset on disk is added, removed or rewritten; None for one of the hub."""
        place = Path(self.path)
        if not place.exists():
            return None
        digest = hashlib.sha256()
        for path in sorted(files_below(place)) if place.is_dir() else [place]:
            state = path.stat()
            digest.update(f"{path}|{state.st_size, state.st_mtime_ns}\n".encode())
        return digest.hexdigest()

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records in the order of splits and rows."""
        parts = self._load(raw)
        columns = self._columns(parts)
        labels = self._labels(parts, columns)
        root = Path(self.path).parent if Path(self.path).is_file() else Path(self.path)  # of paths in a table
        for name, part in parts.items():
            for row, value in enumerate(columns.undecoded(part)):
                where = f"{self._where}: {name}: row {row}"
                yield {**next(labels), "image": as_image(value, root, f"{where}: {columns.image}")}

    def left_out(self) -> str:
        """What to tell the user of files in a folder that are not read; "" if there are none, or it cannot be read."""
        place = Path(self.path)
        if not place.is_dir() or _hub.is_saved(place) or not installed("datasets"):
            return ""
        try:
            return _hub.left_out(_hub.contents(place, self.config))
        except Exception:  # of many kinds; `download` says them
            return ""

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """By splits if there are several, else by classes."""
        if index["part"].nunique() > 1:
            return self._split(index).roles
        return by_classes(index[self.disjoint].to_numpy(), self.test_share)

    def _split(self, records: pd.DataFrame) -> Any:
        classes, names = records[self.disjoint].to_numpy(), records[f"{self.disjoint}_name"].to_numpy().astype(str)
        parts = records["part"].to_numpy().astype(str)
        return roles_of(parts, classes, names, self._where)

    def _columns(self, parts: Mapping[str, Any]) -> Columns:
        return choose(next(iter(parts.values())).features, self._wanted, self._where)

    def _labels(self, parts: Mapping[str, Any], columns: Columns) -> Iterator[dict[str, Any]]:
        """The records of all images, without the images."""
        found = {}
        for level, column in (("fine", columns.label), ("coarse", columns.coarse)):
            if column is not None:
                found[level] = numbered(parts, column, self._where)
        place = 0
        for name, part in parts.items():
            for row in range(len(part)):
                record: dict[str, Any] = {"path": f"{name}/{row:06d}", "part": name}
                for level, (numbers, names) in found.items():
                    record |= {level: numbers[place], f"{level}_name": names[place]}
                yield record
                place += 1

    def _load(self, raw: Path) -> dict[str, Any]:
        """The splits by name."""
        if not installed("datasets"):
            raise DataError("source huggingface needs the library datasets: pip install 'noisy-dml[hub]'")
        import datasets

        place = Path(self.path)
        if not place.exists() and (self.path.startswith((".", "/", "~")) or self.path.count("/") > 1):
            raise DataError(f"huggingface: path is {self.path!r}, which does not exist (from {Path.cwd()})")
        missing, contents = None if place.exists() else _hub.unreachable(), None
        try:
            if place.is_dir() and _hub.is_saved(place):
                loaded = datasets.load_from_disk(self.path)
                if not self._chosen:
                    _hub.check_saved(place, dict(loaded) if isinstance(loaded, dict) else (), self._where)
            else:
                asked: dict[str, Any] = {"path": self.path, "name": self.config}
                if place.is_file():
                    asked = {"path": "parquet", "data_files": self.path}
                elif place.is_dir():
                    contents = _hub.contents(place, self.config)
                    asked["data_files"] = contents.data_files
                    if not (self._chosen or contents.chosen):
                        _hub.check_whole(contents, self._where)
                with nullcontext() if missing is None else _hub.offline():
                    loaded = datasets.load_dataset(**asked, revision=self.revision, cache_dir=str(raw / "cache"))
        except DataError:
            raise
        except Exception as error:  # the libraries of the hub raise errors of many kinds
            reason = missing or str(error).strip() or type(error).__name__
            raise DataError(self._unreadable(reason.splitlines()[0], place.exists())) from error
        found = dict(loaded) if isinstance(loaded, dict) else {"all": loaded}
        if contents is not None and not (self._chosen or contents.chosen):
            _hub.check_rows(contents, sum(map(len, found.values())), self._where)
        for name in self.splits or ():
            if name not in found:
                raise DataError(f"{self._where}: no split {name!r}. Choices: {', '.join(found)}")
        return {name: part for name, part in found.items() if self.splits is None or name in self.splits}

    def _unreadable(self, reason: str, exists: bool) -> str:
        if exists:
            return f"{self._where}: cannot be read: {reason}"
        return (
            f"huggingface: {self.path!r} is no folder here, and could not be loaded from the hub: {reason}. Check the "
            "name and the network; or save the dataset elsewhere with `save_to_disk`, copy the folder here, and set "
            "`settings: {path: <folder>}`"
        )
