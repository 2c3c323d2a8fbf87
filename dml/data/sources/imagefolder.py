"""A user's own images: class folders, two levels of class folders, or a table of paths and labels.

    root/<class>/<image>                 fine labels
    root/<coarse>/<fine>/<image>         coarse and fine labels
    table (CSV or Parquet)               columns `path` (relative to `root`) and `fine`; optional columns `coarse`,
                                         `split` (train, seen, test, query, gallery, unused), `camera` (an integer),
                                         `given` (the fine label as it came, where `fine` is verified)

Labels in a table are names. A column of numbers only must contain integers of at least 0. Without a `split` column the
classes are split in the order of their names: the last `test_share` of them test, the others train, as in CUB-200 and
Cars196. `disjoint="coarse"` splits whole coarse classes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import files_below
from dml.data.sources._defaults import SourceDefaults
from dml.data.sources._table import ROLES, read_table

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


class Imagefolder(SourceDefaults):
    """A user's own images, of any size and kind.

    Parameters
    ----------
    root : the folder that paths are relative to.
    table : a CSV or Parquet file; None: folders are classes.
    test_share : share of the classes that test, without a `split` column.
    disjoint : the level whose classes are split, `fine` or `coarse`.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "imagefolder"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    takes_given: ClassVar[bool] = True

    def __init__(self, root: str, table: str | None = None, test_share: float = 0.5, disjoint: str = "fine") -> None:
        if not 0 <= test_share <= 1:
            raise ValueError(f"test_share: expected a number from 0 to 1, got {test_share!r}")
        if disjoint not in ("fine", "coarse"):
            raise ValueError(f"disjoint: {disjoint!r}. Choices: fine, coarse")
        self.root: str = str(root)
        self.table, self.test_share, self.disjoint = table, test_share, disjoint
        self.options = {"root": self.root, "table": table, "test_share": test_share, "disjoint": disjoint}

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Check that the folder, and the table if there is one, exist. Nothing is fetched."""
        if not Path(self.root).is_dir():
            raise DataError(f"imagefolder: root is {self.root!r}, which is not a folder (from {Path.cwd()})")
        if self.table is not None and not Path(self.table).is_file():
            raise DataError(f"imagefolder: table is {self.table!r}, which is not a file (from {Path.cwd()})")
        report(f"imagefolder: {self.root}, nothing to download")

    def fingerprint(self, raw: Path) -> str:
        """Changes when a file is added, removed or rewritten."""
        digest = hashlib.sha256()
        for path in [*self._files(), *([Path(self.table)] if self.table else [])]:
            state = path.stat() if path.is_file() else None
            digest.update(f"{path}|{state and (state.st_size, state.st_mtime_ns)}\n".encode())
        return digest.hexdigest()

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of files: in the order of folders and names, or of the table."""
        self.download(raw, lambda line: None)
        root = Path(self.root)
        if self.table is not None:
            for record in read_table(Path(self.table)):
                yield record | {"image": root / record["path"]}
            return
        paths = [path.relative_to(root) for path in self._files()]
        depths = {len(path.parts): path for path in paths}
        if not paths or not (set(depths) <= {2} or set(depths) <= {3}):
            shown = [path.as_posix() for path in list(depths.values())[:3]] + ["..."] * (len(depths) > 3)
            found = ", ".join(shown) or "no images"
            raise DataError(
                f"imagefolder: {root}: expected <class>/<image> or <coarse>/<fine>/<image> throughout, found {found}"
            )
        fine = {folder: number for number, folder in enumerate(sorted({path.parent for path in paths}))}
        coarse = {name: number for number, name in enumerate(sorted({path.parts[0] for path in paths}))}
        for path in paths:
            record = {"image": root / path, "path": path.as_posix(), "fine": fine[path.parent]}
            record["fine_name"] = path.parent.as_posix()
            if len(path.parts) == 3:
                record |= {"coarse": coarse[path.parts[0]], "coarse_name": path.parts[0]}
            yield record

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """The `split` column if the table has one, else train and test by classes."""
        parts = index["part"].to_numpy().astype(str)
        if np.isin(parts, ROLES).all():
            return parts
        labels = index[self.disjoint].to_numpy()
        if (labels < 0).any():
            raise DataError(f"imagefolder: disjoint={self.disjoint!r}, but the images have no {self.disjoint} labels")
        classes = np.unique(labels)
        train = classes[: len(classes) - round(self.test_share * len(classes))]
        return np.where(np.isin(labels, train), "train", "test")

    def _files(self) -> list[Path]:
        if self.table is not None:
            return [Path(self.root) / record["path"] for record in read_table(Path(self.table))]
        return sorted(path for path in files_below(Path(self.root)) if path.name.lower().endswith(SUFFIXES))
