"""Splits: which images train, validate and test. A split is saved once and read from then on.

A split has one row per image and the columns `index` (int64, the row in the packed data), `final` and `tune`.

- `final`: train, seen (held-out images of training classes), test, query, gallery or unused, from the source's `roles`.
- `tune`: train and validation, two class-disjoint halves of the training classes, else unused (Musgrave et al., ECCV
  2020, sec. 3.2: the first half of the sorted classes fits). Deviation: where sorted halves would leave a coarse class
  of several fine ones out of a half, the classes, sorted by coarse label, go to the halves in turn.
- `final_given`, `tune_given`, where images have given labels beside verified ones: `train` for the images that train
  if classes are chosen by given labels. Such an image is in no evaluation set, whatever its verified label.

A class is a fine class, or with a source's `disjoint = "coarse"` a coarse one. Of several class splits, each tests
other classes: split 0 of `count` is the source's own, further ones test as many classes, dealt out at random; `folds`
are a cross-validation over all classes. Split 2 of `cub200` is called `cub200@2`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from dml import files
from dml.counting import counted
from dml.protocols import Source, SplitByClasses, SplitBySeed
from dml.seeding import numpy_generator

ROLES = ("train", "seen", "test", "query", "gallery", "unused")
COLUMNS = ("index", "final", "tune")
MEANING = {"seen": "held-out images of classes that train", "test": "classes that never train"}
GIVEN_COLUMNS = ("final_given", "tune_given")
Roles = Callable[[pd.DataFrame], np.ndarray]  # of the images of a packed index, as `Source.roles`


def make(index: pd.DataFrame, source: Source, roles: Roles | None = None) -> pd.DataFrame:
    """The split of a packed dataset by the source's `disjoint` level, and by `roles` or the source's own.

    `index`: the packed index; `index`, `fine` and `coarse` are read here, other columns by the source. Raises
    ValueError: unknown roles, roles whose classes are not disjoint, or fewer than 2 training classes.
    """
    fine, coarse = index["fine"].to_numpy(np.int64), index["coarse"].to_numpy(np.int64)
    roles = roles or source.roles
    final = np.asarray(roles(index), dtype=object)
    if source.disjoint not in ("fine", "coarse"):
        raise ValueError(f"source {source.name!r}: disjoint is {source.disjoint!r}. Choices: fine, coarse")
    classes = fine if source.disjoint == "fine" else coarse
    _check_roles(final, classes, fine)

    train = final == "train"
    units = pd.DataFrame({"unit": classes[train], "coarse": coarse[train]})
    units = units.drop_duplicates("unit").sort_values("unit")  # one row per class, with one of its coarse classes
    if len(units) < 2:
        raise ValueError(
            f"{source.name}: {counted(len(np.unique(classes[classes >= 0])), 'class')} (level {source.disjoint!r}), of "
            f"which {len(units)} can train: a split needs at least 2 training classes. Add classes, lower "
            "`test_share`, or say which images train: with folders train/ and test/, or a column `split` in a table"
        )

    fitting = _fitting_half(units)
    tune = np.full(len(index), "unused", dtype=object)
    tune[train] = np.where(np.isin(classes[train], fitting), "train", "validation")
    split = pd.DataFrame({"index": index["index"].to_numpy(np.int64), "final": final, "tune": tune})
    return split if "given_fine" not in index else _by_given(split, index, source, roles, classes, fitting)


def given_labels(index: pd.DataFrame, level: str) -> np.ndarray:
    """The given labels int64 (n,) of a packed index; its own where an image has no other."""
    labels = index[level].to_numpy(np.int64)
    given = index.get(f"given_{level}", index[level]).to_numpy(np.int64)
    return np.where(given >= 0, given, labels)


def _by_given(
    split: pd.DataFrame, index: pd.DataFrame, source: Source, roles: Roles, classes: np.ndarray, fitting: np.ndarray
) -> pd.DataFrame:
    """The split with the images that train by their given labels."""
    levels = [level for level in ("fine", "coarse") if f"given_{level}" in index]
    if source.disjoint not in levels:
        raise ValueError(f"source {source.name!r}: disjoint is {source.disjoint!r}, but no such label is given")
    given = given_labels(index, source.disjoint)
    as_given = index.assign(**{level: given_labels(index, level) for level in levels})
    both = pd.concat([as_given, index], ignore_index=True)  # else a class that nobody gave would move the others' roles
    trains = np.asarray(roles(both), dtype=object)[: len(index)] == "train"
    trained = np.unique(classes[(split["final"] == "train").to_numpy()])
    trains &= np.isin(given, trained)
    if len(without := np.setdiff1d(trained, given[trains])):
        named = without[:5].tolist()
        raise ValueError(f"{len(without)} training classes have no image with their label as given, among them {named}")
    fits = trains & np.isin(given, fitting)
    split["final_given"] = np.where(trains, "train", "unused")
    split["tune_given"] = np.where(fits, "train", "unused")
    split.loc[trains & (split["final"] != "train").to_numpy(), "final"] = "unused"
    split.loc[fits & (split["tune"] == "validation").to_numpy(), "tune"] = "unused"
    return split


def by_seed(index: pd.DataFrame, source: Source) -> dict[int | None, pd.DataFrame]:
    """The split of each seed that selects one, or one split under None if it is the same for all. Raises as `make`."""
    if not isinstance(source, SplitBySeed) or source.seeds is None:
        return {None: make(index, source)}
    return {seed: make(index, source.for_seed(seed)) for seed in source.seeds}


def file_of(folder: Path, dataset: str, seed: int | None) -> Path:
    """Where the split of a dataset is, in the folder of a study's splits: that of a seed, where seeds select it."""
    by_seeds, common = folder / dataset, folder / f"{dataset}.parquet"
    if common.is_file() or not by_seeds.is_dir():
        return common
    file = by_seeds / f"{seed}.parquet"
    if not file.is_file():
        choices = ", ".join(map(str, sorted(int(path.stem) for path in by_seeds.glob("*.parquet"))))
        raise ValueError(f"dataset {dataset!r}: seeds select its split, and {seed} selects none. Choices: {choices}")
    return file


def save_all(splits: Mapping[int | None, pd.DataFrame], folder: Path, dataset: str) -> list[Path]:
    """Save what `by_seed` returned; the files."""
    paths = [folder / (f"{dataset}.parquet" if seed is None else f"{dataset}/{seed}.parquet") for seed in splits]
    for path, split in zip(paths, splits.values(), strict=True):
        save(split, path)
    return paths


def save(split: pd.DataFrame, path: Path | str) -> None:
    """Write a split as Parquet, atomically. Equal splits give equal bytes."""
    with files.replacing(Path(path)) as temporary:
        split.filter([*COLUMNS, *GIVEN_COLUMNS]).to_parquet(temporary, index=False)


def load(path: Path | str) -> pd.DataFrame:
    """Read a split. Raises ValueError."""
    split = pd.read_parquet(path)
    if tuple(split.columns) not in (COLUMNS, (*COLUMNS, *GIVEN_COLUMNS)):
        raise ValueError(f"{path}: expected the columns {', '.join(COLUMNS)}, got {', '.join(map(str, split.columns))}")
    if unknown := set(split["final"]) - set(ROLES):
        raise ValueError(f"{path}: unknown roles {sorted(unknown)}. Choices: {', '.join(ROLES)}")
    return split


def summary(split: pd.DataFrame, classes: np.ndarray) -> str:
    """What a split contains, for the user, by the class int (n,) of each row: the classes and images of each role."""
    lines = []
    for role in ROLES:
        of_role = (split["final"] == role).to_numpy()
        if of_role.any():
            meaning = f" ({MEANING[role]})" if role in MEANING else ""
            has = counted(len(np.unique(classes[of_role])), "class")
            lines.append(f"{role} {has}, {counted(of_role.sum(), 'image')}{meaning}")
    return "; ".join(lines)


def crossing(copies: Iterable[Sequence[int]], split: pd.DataFrame, classes: np.ndarray, noun: str = "image") -> str:
    """What to say of identical images that are in several sets of a split; "" if there are none. `classes` int (n,)."""
    table = split.set_index("index")
    final = table["final"].mask(table["final_given"] == "train", "train") if "final_given" in table else table["final"]
    evaluated = list(itertools.combinations(ROLES[:-1], 2))
    differ: dict[str, list[bool]] = {}  # by pair of sets: whether the copies in both have different labels
    for rows in copies:
        for roles, pairs in ((final, evaluated), (table["tune"], [("train", "validation")])):
            present = roles.loc[list(rows)].to_numpy()
            for pair in pairs:
                if set(pair) <= set(present):
                    labels = set(classes[np.array(rows)[np.isin(present, pair)]])
                    differ.setdefault(" and ".join(pair), []).append(len(labels) > 1)
    texts = [
        f"{len(cases)} in both {pair}" + f" ({sum(cases)} of them with different labels)" * any(cases)
        for pair, cases in differ.items()
    ]
    return f"identical {noun}s: {', '.join(texts)}" if texts else ""


def _check_roles(final: np.ndarray, classes: np.ndarray, fine: np.ndarray) -> None:
    if final.shape != classes.shape:
        raise ValueError(f"roles: expected {len(classes)}, one per row, got the shape {final.shape}")
    if unknown := {str(role) for role in np.unique(final.astype(str))} - set(ROLES):
        raise ValueError(f"roles: unknown {sorted(unknown)}. Choices: {', '.join(ROLES)}")
    train = final == "train"
    if (classes[train] < 0).any() or (fine[train] < 0).any():
        raise ValueError("roles: an image with a negative label cannot train")
    tested = np.isin(final, ("test", "query", "gallery"))
    if len(both := np.intersect1d(classes[train], classes[tested])):
        raise ValueError(
            f"roles: {len(both)} classes both train and test, among them {both[:5].tolist()}. "
            "Held-out images of classes that train are `seen`, not `test`"
        )
    if len(untrained := np.setdiff1d(classes[final == "seen"], classes[train])):
        raise ValueError(
            f"roles: {len(untrained)} seen classes have no training image, among them {untrained[:5].tolist()}"
        )


def _fitting_half(units: pd.DataFrame) -> np.ndarray:
    """The classes of the half that fits, which is the larger one for an odd number of classes."""
    middle = (len(units) + 1) // 2
    first, second = units.iloc[:middle], units.iloc[middle:]
    several = units["coarse"].value_counts().loc[lambda count: count > 1].index
    if set(several) <= set(first["coarse"]) & set(second["coarse"]):
        return first["unit"].to_numpy()
    return units.sort_values(["coarse", "unit"])["unit"].to_numpy()[::2]


MARK = "@"


def data_name(dataset: str, split: int) -> str:
    """What the data of a dataset's class split is called in the folder of a study's data."""
    return f"{dataset}{MARK}{split}" if split else dataset


def dataset_of(name: str) -> str:
    """The dataset of a `data_name`, whose images all its class splits share."""
    return name.partition(MARK)[0]


def split_of(name: str) -> int:
    """The class split of a `data_name`."""
    return int(name.partition(MARK)[2] or 0)


def make_several(index: pd.DataFrame, source: Source, count: int, folds: bool = False) -> list[pd.DataFrame]:
    """The splits of a packed dataset, each as `dml.data.splits.make` returns it. Raises ValueError."""
    first = make(index, source)
    roles = first["final"].to_numpy().astype(str)
    refused = sorted(set(roles) - {"train", "seen", "test", "unused"})
    if isinstance(source, SplitBySeed) and source.seeds is not None:
        refused.append("splits that seeds select")
    if refused:
        raise ValueError(f"source {source.name!r}: class_splits: its split has {', '.join(refused)}: remove it")
    classes = index[source.disjoint].to_numpy(np.int64)
    tested = _tested(source, classes, roles, count, folds)
    further = [make(index, source, _roles(source, part)) for part in (tested if folds else tested[1:])]
    return further if folds else [first, *further]


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


def _roles(source: Source, tested: np.ndarray) -> Roles:
    """Roles with these test classes. Held-out images of a class that trains stay held out."""
    if isinstance(source, SplitByClasses):
        return partial(source.roles_of, tested=tested)

    def roles(index: pd.DataFrame) -> np.ndarray:
        first = np.asarray(source.roles(index)).astype(str)
        tests = np.isin(index[source.disjoint].to_numpy(np.int64), tested)
        return np.where(first == "unused", first, np.where(tests, "test", np.where(first == "seen", first, "train")))

    return roles
