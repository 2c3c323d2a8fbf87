"""Vectors that a user already has, with a table of their labels: no images.

vectors      .npy or .npz (n, D); or Parquet or CSV with one column of lists, or one column of floats for each dimension
table        CSV or Parquet of n rows in the same order, with the column `fine`; optional columns as for `imagefolder`:
             `path` (any name or text of the row, which pages and label files show), `coarse`, `split`, `camera`. It may
             be the file of the vectors itself.

Trials train a head on the vectors as they are. Without a `split` column the classes are split in the order of their
names, as those of `imagefolder`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import state_of
from dml.data.sources._files import SourceDefaults
from dml.data.sources._splits import roles_of_users, splits_text
from dml.data.sources._table import LABELS, check_columns, check_finite, read_table, read_vectors, unused_columns
from dml.settings import check_choice, check_within

PIXEL = np.zeros((1, 1), np.uint8)


class Features(SourceDefaults):
    """A user's own vectors.

    Parameters
    ----------
    vectors : the file of vectors.
    table : a CSV or Parquet file of their labels; it may be the same file.
    test_share : share of the classes that test, without a `split` column.
    disjoint : the level whose classes are split, `fine` or `coarse`.
    columns : what the table calls its columns, as `{fine: label}`; those not named have their own names.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "features"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    backbone: ClassVar[str] = "identity"
    file_settings: ClassVar[Sequence[str]] = ("vectors", "table")
    takes_given: ClassVar[bool] = True
    mirrors: ClassVar[bool] = False
    own_labels: ClassVar[bool] = True

    def __init__(
        self,
        vectors: str,
        table: str,
        test_share: float = 0.5,
        disjoint: str = "fine",
        columns: Mapping[str, str] | None = None,
    ) -> None:
        check_within("test_share", test_share, 0, 1)
        check_choice("disjoint", disjoint, ("fine", "coarse"))
        self._vectors, self._table = Path(vectors), Path(table)
        self.test_share, self.disjoint = test_share, disjoint
        self._columns = check_columns(columns)
        self.options = {"vectors": str(vectors), "table": str(table), "test_share": test_share, "disjoint": disjoint}
        if self._columns:
            self.options["columns"] = self._columns

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Check that the vectors are finite, that labels can be read, and are as many. Nothing is fetched."""
        if not self._table.is_file():
            raise DataError(f"features: table is {str(self._table)!r}, which is not a file (from {Path.cwd()})")
        vectors, labels = self.vectors(raw), sum(1 for _ in self.images(raw))
        if len(vectors) != labels:
            raise DataError(
                f"features: {self._vectors} has {len(vectors)} vectors, {self._table} {labels} rows: expected one row "
                "of labels for each vector"
            )
        check_finite(self._vectors, vectors)
        report(f"features: {len(vectors)} x {vectors.shape[1]} in {self._vectors}, nothing to download")
        apart = self._table != self._vectors  # else columns that are not used are vectors
        if apart and (note := unused_columns(self._table, self._columns)):
            report(f"features: {note}")
        if text := splits_text(self.images(raw), self.disjoint, "features"):
            report(text)

    def fingerprint(self, raw: Path) -> str:
        """Changes when a file is rewritten."""
        return hashlib.sha256((state_of(self._vectors) + state_of(self._table)).encode()).hexdigest()

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of labels, in the order of the table. A pixel stands for the image that there is not."""
        for record in read_table(self._table, required=("fine",), columns=self._columns):
            yield record | {"image": PIXEL}

    def vectors(self, raw: Path) -> np.ndarray:
        """float16, float32 or float64 (n, D)."""
        return read_vectors(self._vectors, (*LABELS, *self._columns.values()))

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """The `split` column if the table has one, or what follows from splits, else train and test by classes."""
        return roles_of_users(index, self.disjoint, self.test_share, "features")
