"""Noise without structure, and labels as they were given: beside verified ones or in a file. Each class is a part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from dml import seeding
from dml.files import DataError
from dml.noise._labels import Rated, check_labels, chosen, noisy, others
from dml.tables import host_array, integers, is_table, read_rows
from dml.types import NoisyLabels


class Uniform(Rated):
    """Uniform noise: a label becomes one of the K - 1 others, all with the same probability.

    Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 3.2. Deviation: the
    paper flips each label with probability p; here exactly round(p n) labels flip. `rate`: p, 0 <= rate < 1.
    """

    version: ClassVar[int] = 1

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,). Raises ValueError for fewer than 2 classes."""
        labels, classes, true = self.coded(labels)
        hit = chosen(len(labels), self.rate, seed)
        observed = labels.copy()
        if len(hit):
            observed[hit] = classes[others(true[hit], len(classes), seeding.numpy_generator(seed, "noise/uniform"))]
        return noisy(labels, observed)


class Subset(Rated):
    """The clean topline: training on a random (1 - rate) share of the samples, without wrong labels.

    Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 6.1. The score under
    noise divided by the topline's separates the effect of fewer good labels from that of bad labels. For one seed,
    the topline leaves out exactly the samples that `uniform` flips: `round(rate * n)`, observed as -1.

    `rate`: share of the samples that is left out, 0 <= rate < 1.
    """

    version: ClassVar[int] = 1
    topline: ClassVar[bool] = True

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,), all False."""
        labels = check_labels(labels)
        observed = labels.copy()
        observed[chosen(len(labels), self.rate, seed)] = -1
        return noisy(labels, observed)


class Given(Rated):
    """Labels as they were given, by people or by a search, beside the verified ones: no noise is added.

    A dataset states both (`docs/datasets.md`). Training images are those whose given label is a training class, as
    in life: some of them may belong to other classes. The seed has no effect.

    `rate`: the share of wrong labels under which a study lists them. It is not chosen but counted: `corrupt`, the
    stage, compares the two.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("given",)
    makes_noise: ClassVar[bool] = False

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__(rate)

    def corrupt(self, labels: np.ndarray, seed: int, given: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        `given`: int64 (n,), the labels as they came; -1 leaves a sample out. Raises ValueError: there are none, or
        there is not one for each label.
        """
        labels = check_labels(labels)
        if given is None:
            raise ValueError("noise 'given': the dataset has no labels as given (a column `given`, or an option)")
        observed = host_array(given, "noise 'given': given")
        if observed.shape != labels.shape or observed.dtype.kind not in "iu":
            raise ValueError(
                f"noise 'given': given: expected integers {labels.shape}, got {observed.dtype} {observed.shape}"
            )
        return noisy(labels, observed.astype(np.int64))


TOLERANCE = 0.005  # of the rate, which is written with two or three digits


class LabelFile(Rated):
    """Noisy labels from a file: CSV or Parquet with the columns `index` (row of the packed data) and `label`.

    `label` is a class label as in the packed index, or -1 for a sample that is left out. `dml.tables` says how a CSV is
    read. The seed has no effect.

    `path`: the file, `.csv`, `.tsv` or `.parquet`. It may contain more rows than are needed. `rate`: the share of wrong
    labels under which a study lists this file. If above 0, it must match the file to within 0.005 in the confirm phase;
    the tune phase sees only some of the classes.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("index", "phase", "paths")
    makes_noise: ClassVar[bool] = False
    file_settings: ClassVar[Sequence[str]] = ("path",)

    def __init__(self, path: str | Path, rate: float = 0.0) -> None:
        super().__init__(rate)
        self._path = Path(path) if isinstance(path, str | Path) else Path()
        if not is_table(self._path):
            raise ValueError(f"noise 'label_file': path: expected a .csv, .tsv or .parquet file, got {str(path)!r}")

    def corrupt(
        self,
        labels: np.ndarray,
        seed: int,
        index: np.ndarray | None = None,
        phase: str = "confirm",
        paths: np.ndarray | None = None,
    ) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,).

        `index`: int64 (n,), the rows in the packed data; None: 0 to n - 1. `phase`: a label of a class that `labels`
        does not contain is an error in `"confirm"`; in `"tune"` its sample is left out. `paths`: text (n,), compared
        with a column `path` of the file. Raises ValueError: the file is missing or unreadable, its columns or paths
        differ, an index is missing or occurs twice, a label is not a training class, or the rate does not match.
        """
        labels = check_labels(labels)
        index = np.arange(len(labels)) if index is None else host_array(index, "noise 'label_file': index")
        table = self._read().reindex(index)
        observed = table["label"]
        if observed.isna().any():
            absent = index[observed.isna().to_numpy()]
            raise self._error(f"{len(absent)} of {len(index)} training images have no label, among them {absent[:5]}")
        if paths is not None and "path" in table and len(moved := np.flatnonzero(table["path"].to_numpy() != paths)):
            row, then, now = index[moved[0]], table["path"].iloc[moved[0]], paths[moved[0]]
            raise self._error(f"path: row {row} was {then} and is {now} now: the images changed, make the file again")
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

    def _read(self) -> pd.DataFrame:
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
        table = table.assign(**read)
        if table["index"].duplicated().any():
            raise self._error(f"index: {table['index'][table['index'].duplicated()].iloc[0]} occurs twice")
        return table.set_index("index")

    def _error(self, what: str) -> ValueError:
        return ValueError(f"noise 'label_file': {self._path}: {what}")
