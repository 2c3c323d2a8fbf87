"""Labels as they were given, beside the dataset's own: the CSV of CIFAR-100N.

Wei et al., "Learning with noisy labels revisited: a study using real-world human annotations", ICLR 2022.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.tables import integers, read_rows

COLUMNS = {"noisy_fine": "fine", "noisy_coarse": "coarse"}
CLEAN = {"clean_fine": "fine", "clean_coarse": "coarse"}


def read_given(path: Path, own: dict[str, list[int]], classes: dict[str, int]) -> dict[str, np.ndarray]:
    """The given labels int64 (n,) by level, in the order of the training part.

    Parameters
    ----------
    path : a CSV with the columns `index` (0 to n - 1, each once), `noisy_fine` and `noisy_coarse`, and optionally
        `clean_fine` and `clean_coarse`, which are compared with the dataset's own labels. Other columns are ignored.
    own : the dataset's own labels (n,) by level.
    classes : by level, how many there are.

    Raises
    ------
    DataError : the file is missing or cannot be read, lacks a column or a row, has a label that is no class, or its
        clean labels are not those of the dataset, so the rows are in another order.
    """
    if not path.is_file():
        raise absent(path)
    found, numbers = read_rows(path)
    known = ["index", *COLUMNS, *(name for name in CLEAN if name in found)]
    table = pd.DataFrame({name: integers(path, found, numbers, name) for name in known})
    rows = len(own["fine"])
    if sorted(table["index"]) != list(range(rows)):
        lacking = sorted(set(range(rows)) - set(table["index"]))
        detail = (
            f"{len(lacking)} are missing, the first is {lacking[0]}" if lacking else "some are repeated or too large"
        )
        raise DataError(f"{path}: index: expected each of 0 to {rows - 1} once, got {len(table)} rows: {detail}")
    table = table.set_index("index").sort_index()
    for name, level in {**COLUMNS, **CLEAN}.items():
        if name not in table:
            continue
        strange = table[name][table[name] >= classes[level]]
        if len(strange):
            raise DataError(
                f"{path}: index {strange.index[0]}: {name} is {strange.iloc[0]}, which is no class: expected 0 to "
                f"{classes[level] - 1}"
            )
        if name in CLEAN and (other := np.flatnonzero(table[name].to_numpy() != np.asarray(own[level]))).size:
            raise DataError(
                f"{path}: index {other[0]}: {name} is {table[name].iloc[other[0]]}, but the archive's label is "
                f"{own[level][other[0]]}: the rows are in another order ({len(other)} of {rows} differ)"
            )
    return {level: table[name].to_numpy(np.int64) for name, level in COLUMNS.items()}


def absent(path: Path) -> DataError:
    """The error for a file that does not exist."""
    return DataError(
        f"given: {path} is not a file (from {Path.cwd()}): expected a CSV with the columns index, {', '.join(COLUMNS)}"
    )
