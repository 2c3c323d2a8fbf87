"""Splits: which images train, validate and test, as data: one row an image, saved once and read from then on.

Columns: `index` (int64, the row in the packed data), `final`, `tune` and `fold`.

- `final`: train, seen (held-out images of training classes), test, query, gallery or unused: the source's `roles`.
- `tune`: train and validation, two class-disjoint halves of the training classes (Musgrave, Belongie, Lim: A metric
  learning reality check, ECCV 2020, sec. 3.2, who take the first half of the classes in sorted order to fit and the
  second half to validate); unused elsewhere.
- `fold`: k-fold class-disjoint cross-validation over the training classes, 0 to k - 1; -1 elsewhere. Seeded.

Deviation: where sorted halves would leave a coarse class out of one of them although it has several fine classes
(CIFAR-100, Online Products), the classes, sorted by coarse and then fine label, go to the two halves in turn.

A class is a fine one. Coarse classes are kept whole instead for a source that says `disjoint = "coarse"`, or that says
nothing and holds out whole coarse classes itself, as Omniglot does with its alphabets.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import seeding

ROLES = ("train", "seen", "test", "query", "gallery", "unused")
COLUMNS = ("index", "final", "tune", "fold")


def make(index: pd.DataFrame, source: Any, folds: int = 5, seed: int = 0) -> pd.DataFrame:
    """The split of a packed dataset.

    Parameters
    ----------
    index : the packed index; its columns `index`, `fine` and `coarse` are read here, any others by the source.
    source : has `roles(index)`, one of `ROLES` for each row; without it, the first half of the classes in sorted order
        trains and the second half tests (the convention of CUB, Cars196 and Online Products).
    folds : at least 2; with fewer training classes than folds there are as many folds as classes.
    seed : of the folds. The halves do not depend on it.

    Raises
    ------
    ValueError : roles that are not known or not disjoint in their classes, or fewer than 2 training classes.
    """
    if folds < 2:
        raise ValueError(f"folds: expected at least 2, got {folds}")
    fine, coarse = index["fine"].to_numpy(np.int64), index["coarse"].to_numpy(np.int64)
    final = np.asarray(source.roles(index) if hasattr(source, "roles") else _first_half(fine), dtype=object)
    level = getattr(source, "disjoint", None) or _held_out_level(final, fine, coarse)
    if level not in ("fine", "coarse"):
        raise ValueError(f"source {source!r}: disjoint is {level!r}. Choices: fine, coarse")
    classes = fine if level == "fine" else coarse
    _check_roles(final, classes, fine)

    train = final == "train"
    units = pd.DataFrame({"unit": classes[train], "coarse": coarse[train]})
    units = units.drop_duplicates("unit").sort_values("unit")  # one row a class, with one coarse class of it
    if len(units) < 2:
        raise ValueError(f"a split needs at least 2 training classes (level {level!r}), got {len(units)}")

    tune = np.full(len(index), "unused", dtype=object)
    fits = _fitting_half(units)
    tune[train] = np.where(np.isin(classes[train], fits), "train", "validation")
    fold = np.full(len(index), -1, dtype=np.int64)
    fold[train] = _folds(units, folds, seed).loc[classes[train]].to_numpy()
    position = index["index"].to_numpy(np.int64)
    return pd.DataFrame({"index": position, "final": final, "tune": tune, "fold": fold})


def save(split: pd.DataFrame, path: Path | str) -> None:
    """Write a split as Parquet, whole or not at all. The same split gives the same bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        split.loc[:, list(COLUMNS)].to_parquet(unfinished, index=False)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def load(path: Path | str) -> pd.DataFrame:
    """Read a split.

    Raises
    ------
    ValueError : the file is no split.
    """
    split = pd.read_parquet(path)
    if list(split.columns) != list(COLUMNS):
        raise ValueError(f"{path}: expected the columns {', '.join(COLUMNS)}, got {', '.join(map(str, split.columns))}")
    unknown = set(split["final"]) - set(ROLES)
    if unknown:
        raise ValueError(f"{path}: unknown roles {sorted(unknown)}. Choices: {', '.join(ROLES)}")
    return split


def _first_half(classes: np.ndarray) -> np.ndarray:
    known = np.unique(classes[classes >= 0])
    train = np.isin(classes, known[: (len(known) + 1) // 2])
    return np.where(classes < 0, "unused", np.where(train, "train", "test")).astype(object)


def _held_out_level(final: np.ndarray, fine: np.ndarray, coarse: np.ndarray) -> str:
    """The level that the roles hold out whole classes of: coarse, if several train and none of those is tested."""
    if final.shape != fine.shape:
        return "fine"
    train, tested = final == "train", np.isin(final, ("test", "query", "gallery"))
    several = len(np.unique(coarse[train])) > 1 and tested.any()
    return "coarse" if several and not np.intersect1d(coarse[train], coarse[tested]).size else "fine"


def _check_roles(final: np.ndarray, classes: np.ndarray, fine: np.ndarray) -> None:
    if final.shape != classes.shape:
        raise ValueError(f"roles: expected {len(classes)}, one a row, got the shape {final.shape}")
    unknown = {str(role) for role in np.unique(final.astype(str))} - set(ROLES)
    if unknown:
        raise ValueError(f"roles: unknown {sorted(unknown)}. Choices: {', '.join(ROLES)}")
    train = final == "train"
    if (classes[train] < 0).any() or (fine[train] < 0).any():
        raise ValueError("roles: an image with a negative label cannot train")
    tested = np.isin(final, ("test", "query", "gallery"))
    both = np.intersect1d(classes[train], classes[tested])
    if len(both):
        raise ValueError(f"roles: {len(both)} classes both train and test, among them {both[:5].tolist()}")
    strange = np.setdiff1d(classes[final == "seen"], classes[train])
    if len(strange):
        raise ValueError(
            f"roles: {len(strange)} seen classes have no training image, among them {strange[:5].tolist()}"
        )


def _fitting_half(units: pd.DataFrame) -> np.ndarray:
    """The classes of the half that fits; the larger one where their number is odd."""
    middle = (len(units) + 1) // 2
    first, second = units.iloc[:middle], units.iloc[middle:]
    several = units["coarse"].value_counts().loc[lambda count: count > 1].index
    if set(several) <= set(first["coarse"]) & set(second["coarse"]):
        return first["unit"].to_numpy()
    return units.sort_values(["coarse", "unit"])["unit"].to_numpy()[::2]


def _folds(units: pd.DataFrame, folds: int, seed: int) -> pd.Series:
    """class -> fold. Folds differ by one class at most, and each coarse class is spread as evenly over them."""
    shuffled = units.iloc[seeding.numpy_generator(seed, "folds").permutation(len(units))]
    order = shuffled.sort_values("coarse", kind="stable")["unit"]
    return pd.Series(np.arange(len(order), dtype=np.int64) % min(folds, len(order)), index=order.to_numpy())
