"""Several class splits of one dataset: which classes test is an accident, and a study can repeat it.

- `count` splits: split 0 is the source's own. Each further one tests as many classes, dealt out at random among those
  that no earlier split tested; all others train. So no class is tested twice.
- `folds`: cross-validation over all classes. Each class is tested once, and split 0 is not the source's own.

Test classes of different splits are disjoint, so their scores are independent as far as test classes are concerned.
Their training classes overlap, as in every cross-validation (Bengio and Grandvalet, JMLR 2004).

In the folder of a study's data, split 0 of `cub200` has the dataset's name, and split 2 is called `cub200@2`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from dml.counting import counted
from dml.data import splits
from dml.protocols import Source, SplitByClasses, SplitBySeed
from dml.seeding import numpy_generator

MARK = "@"
TAKES = {"train", "seen", "test", "unused"}


def data_name(dataset: str, split: int) -> str:
    """What the data of a dataset's class split is called in the folder of a study's data."""
    return f"{dataset}{MARK}{split}" if split else dataset


def dataset_of(name: str) -> str:
    """The dataset of a `data_name`, whose images all its class splits share."""
    return name.partition(MARK)[0]


def split_of(name: str) -> int:
    """The class split of a `data_name`."""
    return int(name.partition(MARK)[2] or 0)


def make(index: pd.DataFrame, source: Source, count: int, folds: bool = False) -> list[pd.DataFrame]:
    """The splits of a packed dataset, each as `dml.data.splits.make` returns it.

    Parameters
    ----------
    index : the packed index.
    count : how many, at least 2.
    folds : cross-validation over all classes.

    Raises
    ------
    ValueError : queries and galleries or splits that seeds select, which decide what is tested; too few classes; and
        as `dml.data.splits.make`.
    """
    own = splits.make(index, source)
    roles = own["final"].to_numpy().astype(str)
    refused = sorted(set(roles) - TAKES)
    if isinstance(source, SplitBySeed) and source.seeds is not None:
        refused.append("splits that seeds select")
    if refused:
        raise ValueError(f"source {source.name!r}: class_splits: its split has {', '.join(refused)}: remove it")
    classes = index[source.disjoint].to_numpy(np.int64)
    parts = _tested(source, classes, roles, count, folds)
    if not folds:
        return [own, *(splits.make(index, source, _roles(source, part)) for part in parts[1:])]
    return [splits.make(index, source, _roles(source, part)) for part in parts]


def _tested(source: Source, classes: np.ndarray, roles: np.ndarray, count: int, folds: bool) -> list[np.ndarray]:
    """The test classes of each split."""
    used = np.unique(classes[roles != "unused"])
    tested = np.unique(classes[roles == "test"])
    draw = numpy_generator(0, "class splits")
    if folds:
        if count > len(used) // 2:  # a score of one class is not defined
            raise ValueError(
                f"source {source.name!r}: class_splits: {count} folds of {counted(len(used), 'class')} leave less than "
                f"2 to test. Expected at most {len(used) // 2}"
            )
        return np.array_split(draw.permutation(used), count)
    others = draw.permutation(np.setdiff1d(used, tested))
    most = 1 + len(others) // max(1, len(tested))
    if count > most or not len(tested):
        raise ValueError(
            f"source {source.name!r}: class_splits: its own split tests {len(tested)} of "
            f"{counted(len(used), 'class')}, so at most {most} splits test different classes, got {count}. "
            f"Cross-validation over all classes has as many as you like: class_splits: {{folds: {count}}}"
        )
    return [tested, *(others[i * len(tested) : (i + 1) * len(tested)] for i in range(count - 1))]


def _roles(source: Source, tested: np.ndarray) -> splits.Roles:
    """Roles with these test classes. Held-out images of a class that trains stay held out."""
    if isinstance(source, SplitByClasses):
        return partial(source.roles_of, tested=tested)

    def roles(index: pd.DataFrame) -> np.ndarray:
        own = np.asarray(source.roles(index)).astype(str)
        tests = np.isin(index[source.disjoint].to_numpy(np.int64), tested)
        return np.where(own == "unused", own, np.where(tests, "test", np.where(own == "seen", own, "train")))

    return roles
