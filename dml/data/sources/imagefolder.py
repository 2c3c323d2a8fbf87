"""A user's own images: class folders, two levels of class folders, either of them in splits, or a table.

    root/<class>/<image>                 fine labels (layout `classes`)
    root/<coarse>/<fine>/<image>         coarse and fine labels (layout `groups`)
    root/train/<class>/<image>           fine labels, or coarse and fine ones in one more level; beside it test, val,
                                         valid, validation, query, gallery (layout `splits`)
    table (CSV or Parquet)               columns `path` (inside `root`, or absolute) and `fine`; optional columns
                                         `coarse`, `split` (train, seen, test, query, gallery,
                                         unused; or val, as a folder), `camera` (an integer), `given` (the
                                         fine label as it came, where `fine` is verified); others are ignored

Labels in a table are names, or integers of at least 0 throughout (with `007` or `1e5`, all are names). Without a
`split` column the classes are split in the order of their names: the last `test_share` of them test, the others train,
as in CUB-200 and Cars196. `disjoint="coarse"` splits whole coarse classes. In the layout `splits`, folders decide
(`_splits.py`).
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import files_below, image_files, is_hidden, is_image, state_of
from dml.data.sources._files import SourceDefaults
from dml.data.sources._splits import kind_of, roles_of_users, splits_text
from dml.data.sources._table import check_columns, read_table, unused_columns
from dml.settings import check_choice, check_within

LAYOUTS = ("auto", "splits", "classes", "groups")


def has_splits(root: Path) -> bool:
    """Whether folders in `root` are splits, `train` and another one, and contain folders; no other one has images."""
    folders = subfolders(root) if root.is_dir() else []
    splits = [path for path in folders if kind_of(path.name)]
    if not _are_splits(path.name for path in splits) or not all(map(subfolders, splits)):
        return False
    return not any(is_image(file) for path in folders if path not in splits for file in files_below(path))


def subfolders(root: Path) -> list[Path]:
    """Folders in the order of names, without hidden ones."""
    return sorted(path for path in root.iterdir() if path.is_dir() and not is_hidden(path.name))


def check_paths(root: str, paths: Sequence[Path], layout: str, left_out: str = "") -> None:
    """Raise a DataError unless images, by paths relative to `root`, are where a layout expects them."""
    within = 1 if layout == "splits" else 0
    depths = {len(path.parts): path for path in paths}
    classes, groups = 2 + within, 3 + within
    allowed = {"classes": [classes], "groups": [groups]}.get(layout, [classes, groups])
    if len(depths) != 1 or not set(depths) <= set(allowed):
        shown = [path.as_posix() for path in list(depths.values())[:3]] + ["..."] * (len(depths) > 3)
        split = "<split>/" * within
        forms = {classes: f"{split}<class>/<image>", groups: f"{split}<coarse>/<fine>/<image>"}
        nothing = f"no images. {left_out}" if left_out else "no images"
        expected = " or ".join(forms[depth] for depth in allowed)
        raise DataError(f"imagefolder: {root}: expected {expected} throughout, found {', '.join(shown) or nothing}")
    folders = {path.parts[0] for path in paths}
    splits = {name for name in folders if kind_of(name)}
    others = ", ".join(sorted(folders - splits)[:3])
    if within and others:
        raise DataError(f"imagefolder: {root}: layout: splits, but {others} is not the name of a split")
    if layout == "auto" and _are_splits(splits):
        choice = "classes" if classes in depths else "groups"
        raise DataError(
            f"imagefolder: {root}: {', '.join(sorted(splits))} look like splits, {others or 'their folders'} not. "
            f"Expected <split>/<class>/<image>; `settings: {{layout: {choice}}}` reads folders as {choice}"
        )


def _are_splits(names: Iterable[str]) -> bool:
    """Whether `train` and another split are among names of folders."""
    kinds = {kind_of(name) for name in names} - {None}
    return "train" in kinds and len(kinds) > 1


class Imagefolder(SourceDefaults):
    """A user's own images, of any size and kind.

    Parameters
    ----------
    root : the folder that paths are relative to.
    table : a CSV or Parquet file; None: folders are classes.
    test_share : share of the classes that test, without a `split` column.
    disjoint : the level whose classes are split, `fine` or `coarse`.
    layout : `splits`, `classes` or `groups`. `auto` takes folders for splits if all have names of splits, `train` and
        another one are among them, and they contain folders.
    columns : what the table calls its columns, as `{path: image, fine: label}`; those not named have their own names.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "imagefolder"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    takes_given: ClassVar[bool] = True
    own_labels: ClassVar[bool] = True
    file_settings: ClassVar[Sequence[str]] = ("root", "table")

    def __init__(
        self,
        root: str,
        table: str | None = None,
        test_share: float = 0.5,
        disjoint: str = "fine",
        layout: str = "auto",
        columns: Mapping[str, str] | None = None,
    ) -> None:
        check_within("test_share", test_share, 0, 1)
        check_choice("disjoint", disjoint, ("fine", "coarse"))
        check_choice("layout", layout, LAYOUTS)
        if table is not None and layout != "auto":
            raise ValueError(f"layout: {layout!r} is about folders, and the option table names a table: remove one")
        if table is None and columns:
            raise ValueError("columns: they are those of a table, and the option table names none")
        self._columns = check_columns(columns)
        self.root: str = str(root)
        self.table, self.test_share, self.disjoint = table, test_share, disjoint
        detected = "splits" if table is None and has_splits(Path(self.root)) else "auto"
        self._layout = detected if layout == "auto" else layout
        self.options: dict[str, Any] = {"root": self.root, "table": table}
        self.options |= {"test_share": test_share, "disjoint": disjoint}
        if "splits" in (detected, self._layout):  # else it says nothing new, and folders packed before it existed stay
            self.options["layout"] = self._layout
        if self._columns:
            self.options["columns"] = self._columns

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Check that the folder and the table exist. Reports how splits are read, and unused columns of a table."""
        self._check_place()
        report(f"imagefolder: {self.root}, nothing to download")
        if self.table is not None:
            if note := unused_columns(Path(self.table), self._columns):
                report(f"imagefolder: {note}")
        elif self._layout == "splits":
            names = ", ".join(f"{path.name}/" for path in subfolders(Path(self.root)) if kind_of(path.name))
            report(
                f"imagefolder: {names} are read as splits; `settings: {{layout: groups}}` reads them as groups of "
                "classes"
            )
        else:
            return
        if text := splits_text(self.images(raw), self.disjoint, f"imagefolder: {self.root}"):
            report(text)

    def fingerprint(self, raw: Path) -> str:
        """Changes when a file is added, removed or rewritten."""
        digest = hashlib.sha256()
        root = Path(self.root)
        if self.table is None:
            paths = image_files(root).paths
        else:
            paths = [*(root / record["path"] for record in self._rows()), Path(self.table)]
        for path in paths:
            digest.update(state_of(path).encode())
        return digest.hexdigest()

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of files: in the order of folders and names, or of the table."""
        self._check_place()
        root = Path(self.root)
        if self.table is not None:
            for record in self._rows():
                yield record | {"image": root / record["path"]}
            return
        files = image_files(root)
        paths = [path.relative_to(root) for path in files.paths]
        within = 1 if self._layout == "splits" else 0  # folders above the classes
        check_paths(self.root, paths, self._layout, files.left_out)
        fine = {folder: n for n, folder in enumerate(sorted({Path(*path.parent.parts[within:]) for path in paths}))}
        coarse = {name: number for number, name in enumerate(sorted({path.parts[within] for path in paths}))}
        for path in paths:
            folder = Path(*path.parent.parts[within:])
            record = {"image": root / path, "path": path.as_posix()}
            record |= {"fine": fine[folder], "fine_name": folder.as_posix()}
            if len(folder.parts) == 2:
                record |= {"coarse": coarse[folder.parts[0]], "coarse_name": folder.parts[0]}
            yield record | ({"part": f"{path.parts[0]}/"} if within else {})

    def left_out(self) -> str:
        """What to tell the user of files that are not read, and of folders without images; "" if a table names them."""
        root = Path(self.root)
        return image_files(root).left_out if self.table is None and root.is_dir() else ""

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """The `split` column if the table has one, or what follows from splits, else train and test by classes."""
        return roles_of_users(index, self.disjoint, self.test_share, f"imagefolder: {self.root}")

    def _check_place(self) -> None:
        if not Path(self.root).is_dir():
            raise DataError(f"imagefolder: root is {self.root!r}, which is not a folder (from {Path.cwd()})")
        if self.table is not None and not Path(self.table).is_file():
            raise DataError(f"imagefolder: table is {self.table!r}, which is not a file (from {Path.cwd()})")

    def _rows(self) -> Iterator[dict[str, Any]]:
        """The table's records, whose paths are inside the root or absolute."""
        assert self.table is not None
        for record in read_table(Path(self.table), columns=self._columns):
            if posixpath.normpath(record["path"]).split("/")[0] == "..":
                raise DataError(
                    f"imagefolder: {self.table}: path is {record['path']!r}, which leaves root ({self.root}): expected "
                    "a path inside root, or an absolute one; or name a folder above as root"
                )
            yield record
