"""Noisy labels from a file: CSV or Parquet with the columns `index` (row of the packed data) and `label`.

`dml.tables` says how a CSV is read.
`label` is a class label as in the packed index, or -1 for a sample that is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from dml.files import DataError
from dml.noise._labels import check_labels, check_rate, noisy
from dml.tables import host_array, integers, is_table, read_rows
from dml.types import NoisyLabels

TOLERANCE = 0.005  # of the rate, which is written with two or three digits


class LabelFile:
    """Observes the labels in the file. The seed has no effect.

    `path`: the file, `.csv`, `.tsv` or `.parquet`. It may contain more rows than are needed. `rate`: the share of wrong
    labels under which a study lists this file. If above 0, it must match the file to within 0.005 in the confirm phase;
    the tune phase sees only some of the classes.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("index", "phase")
    topline: ClassVar[bool] = False
    makes_noise: ClassVar[bool] = False
    file_settings: ClassVar[Sequence[str]] = ("path",)

    def __init__(self, path: str | Path, rate: float = 0.0) -> None:
        self.rate = check_rate(rate)
        self._path = Path(path) if isinstance(path, str | Path) else Path()
        if not is_table(self._path):
            raise ValueError(f"noise 'label_file': path: expected a .csv, .tsv or .parquet file, got {str(path)!r}")

    def corrupt(
        self, labels: np.ndarray, seed: int, index: np.ndarray | None = None, phase: str = "confirm"
    ) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,).

        `index`: int64 (n,), the rows in the packed data; None: 0 to n - 1. `phase`: a label of a class that `labels`
        does not contain is an error in `"confirm"`; in `"tune"` its sample is left out. Raises ValueError: the file is
        missing or unreadable, its columns differ, an index is missing or occurs twice, a label is not a training class,
        or the rate does not match.
        """
        labels = check_labels(labels)
        index = np.arange(len(labels)) if index is None else host_array(index, "noise 'label_file': index")
        observed = self._read().reindex(index)
        if observed.isna().any():
            absent = index[observed.isna().to_numpy()]
            raise self._error(f"{len(absent)} of {len(index)} training images have no label, among them {absent[:5]}")
        result = observed.to_numpy(np.int64)
        strange = ~np.isin(result, [*np.unique(labels), -1])
        if phase == "tune":
            result = np.where(strange, -1, result)
        elif strange.any():
            raise self._error(f"labels that are not training classes: {np.unique(result[strange])[:5]}")
        record = noisy(labels, result)
        measured = record.flipped.sum() / max(1, (result >= 0).sum())
        if self.rate > 0 and phase == "confirm" and abs(measured - self.rate) > TOLERANCE:
            raise self._error(f"{measured:.4f} of the labels are wrong, the rate says {self.rate:g}")
        return record

    def _read(self) -> pd.Series:
        if not self._path.is_file():
            raise self._error("the file does not exist")
        try:
            table, rows = read_rows(self._path)
            if not {"index", "label"} <= set(table.columns):
                raise self._error(f"expected the columns index and label, got {', '.join(table.columns)}")
            lowest = {"index": 0, "label": -1}
            read = {name: integers(self._path, table, rows, name, least) for name, least in lowest.items()}
        except DataError as error:
            raise ValueError(f"noise 'label_file': {error}") from error
        table = pd.DataFrame(read)
        if table["index"].duplicated().any():
            raise self._error(f"index: {table['index'][table['index'].duplicated()].iloc[0]} occurs twice")
        return table.set_index("index")["label"]

    def _error(self, what: str) -> ValueError:
        return ValueError(f"noise 'label_file': {self._path}: {what}")
