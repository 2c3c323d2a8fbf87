"""CIFAR-100: 60,000 photographs of 32 x 32 of 100 kinds in 20 groups (Krizhevsky 2009)."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import Archive
from dml.data.raw.walking import content_of
from dml.data.sources._files import FetchedSource, label, missing
from dml.data.sources._splits import by_part
from dml.settings import check_choice
from dml.tables import integers, read_rows

COLUMNS = {"noisy_fine": "fine", "noisy_coarse": "coarse"}
CLEAN = {"clean_fine": "fine", "clean_coarse": "coarse"}


def read_given(path: Path, verified: dict[str, list[int]], classes: dict[str, int]) -> dict[str, np.ndarray]:
    """The given labels int64 (n,) by level of a CSV `index, noisy_fine, noisy_coarse`. Raises DataError.

    `clean_fine` and `clean_coarse`, if there are any, are compared with the dataset's `verified` labels.
    """
    if not path.is_file():
        raise absent(path)
    columns, numbers = read_rows(path)
    names = ["index", *COLUMNS, *(name for name in CLEAN if name in columns)]
    table = pd.DataFrame({name: integers(path, columns, numbers, name) for name in names})
    rows = len(verified["fine"])
    if sorted(table["index"]) != list(range(rows)):
        raise DataError(f"{path}: index: expected each of 0 to {rows - 1} once, got {len(table)} rows")
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
        if name in CLEAN and (other := np.flatnonzero(table[name].to_numpy() != np.asarray(verified[level]))).size:
            raise DataError(
                f"{path}: index {other[0]}: {name} is {table[name].iloc[other[0]]}, but the archive's label is "
                f"{verified[level][other[0]]}: the rows are in another order ({len(other)} of {rows} differ)"
            )
    return {level: table[name].to_numpy(np.int64) for name, level in COLUMNS.items()}


def absent(path: Path) -> DataError:
    """The error for a file that does not exist."""
    return DataError(
        f"given: {path} is not a file (from {Path.cwd()}): expected a CSV with the columns index, {', '.join(COLUMNS)}"
    )


SIZES = {"fine": 100, "coarse": 20}
FOLDER = "cifar-100-python"
ALLOWED = {("multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}
COUNTS: Mapping[str, Mapping[str, Mapping[str, int]]] = {
    "classes": {
        "train": {"images": 25000, "fine": 50},
        "seen": {"images": 5000, "fine": 50},
        "test": {"images": 5000, "fine": 50},
        "all": {"images": 60000, "fine": 100, "coarse": 20},
    },
    "images": {
        "train": {"images": 50000, "fine": 100},
        "seen": {"images": 10000, "fine": 100},
        "all": {"images": 60000, "fine": 100, "coarse": 20},
    },
}


class Cifar100(FetchedSource):
    """CIFAR-100: small photographs, 32 x 32 RGB. Fine is the kind, coarse the group.

    None of the four papers uses it; the split follows MNIST's in the EPS paper. Half of the classes train, with their
    images of the training part; their images of the test part are `seen`, the other classes' images of the test part
    are `test`, all others unused. URL and MD5 sum: torchvision.datasets.CIFAR100.

    Parameters
    ----------
    disjoint : `fine`: the first 50 kinds train, so both halves share the groups; `coarse`: the first 10 groups.
    complete : False accepts a part of the dataset.
    held_out : `classes`; or `images`: all classes train, and the test part is `seen`.
    given : a CSV of labels that people gave to the training part, as CIFAR-100N (Wei et al., ICLR 2022); None: none.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "cifar100"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    shape: ClassVar[tuple[int, int, int] | None] = (32, 32, 3)
    takes_given: ClassVar[bool] = True
    file_settings: ClassVar[Sequence[str]] = ("given",)
    archives: Sequence[Archive] = (
        Archive(
            f"{FOLDER}.tar.gz",
            (f"https://www.cs.toronto.edu/~kriz/{FOLDER}.tar.gz",),
            md5="eb9058c3a382ffc7106e4002c42a8d85",
        ),
    )

    def __init__(
        self, disjoint: str = "fine", complete: bool = True, held_out: str = "classes", given: str | None = None
    ) -> None:
        check_choice("disjoint", disjoint, ("fine", "coarse"))
        check_choice("held_out", held_out, tuple(COUNTS))
        self.disjoint, self.complete, self._held_out, self._given = disjoint, complete, held_out, given
        self.counts = COUNTS[held_out]
        self.options = {"disjoint": disjoint, "complete": complete, "held_out": held_out, "given": given}

    def fingerprint(self, raw: Path) -> str | None:
        """Changes with the file of given labels and the raw files; None without such a file."""
        if self._given is None:
            return None
        path = Path(self._given)
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
        return f"{digest}-{content_of(raw, raw / 'none')}"

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Fetch, verify and unpack the archive (169 MB) into `raw`. The file of given labels must exist."""
        if self._given is not None and not Path(self._given).is_file():
            raise absent(Path(self._given))
        super().download(raw, report)

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of uint8 (32, 32, 3) arrays: the training part, then the test part."""
        names = _names(raw / FOLDER / "meta")
        for part in ("train", "test"):
            path = raw / FOLDER / part
            batch = _batch(path)
            given = self._given_to(batch) if part == "train" else {}
            for row, (image, *labels) in enumerate(zip(*batch, strict=True)):
                fine, coarse = (
                    label(value, len(names[level]), f"{path}: row {row}: {level}", first=0)
                    for value, level in zip(labels, SIZES, strict=True)
                )
                yield {
                    "image": np.ascontiguousarray(image),
                    "fine": fine,
                    "coarse": coarse,
                    "fine_name": names["fine"][fine],
                    "coarse_name": names["coarse"][coarse],
                    "path": f"{part}/{row:05d}",
                    "part": part,
                    **{f"given_{level}": int(values[row]) for level, values in given.items()},
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train, seen, test and unused."""
        half = 50 if self.disjoint == "fine" else 10
        return by_part(index, (index[self.disjoint].to_numpy() >= half) & (self._held_out == "classes"))

    def roles_of(self, index: pd.DataFrame, tested: np.ndarray) -> np.ndarray:
        """The roles if these classes were those that test."""
        return by_part(index, np.isin(index[self.disjoint].to_numpy(), tested))

    def _given_to(self, batch: tuple[np.ndarray, list[int], list[int]]) -> dict[str, np.ndarray]:
        """The given labels of the training part by level; empty without a file."""
        if self._given is None:
            return {}
        return read_given(Path(self._given), dict(zip(SIZES, batch[1:], strict=True)), SIZES)


class _Arrays(pickle.Unpickler):
    """Reads arrays, lists and strings. Anything else is refused, since it could run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module.removeprefix("numpy.core.").removeprefix("numpy._core."), name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        if name == "_reconstruct":
            return np.empty(0).__reduce__()[0]
        return super().find_class(module, name)


def _names(path: Path) -> dict[str, list[str]]:
    """The names of the classes by level: at most 100 and 20."""
    content = _unpickle(path, *(f"{level}_label_names" for level in SIZES))
    names = {level: content[f"{level}_label_names"] for level in SIZES}
    for level, most in SIZES.items():
        if not isinstance(names[level], list) or not 0 < len(names[level]) <= most:
            raise DataError(f"{path}: expected {level}_label_names to be a list of {most} names")
    return names


def _batch(path: Path) -> tuple[np.ndarray, list[int], list[int]]:
    """Pixels uint8 (N, 32, 32, 3), N fine labels and N coarse labels."""
    content = _unpickle(path, "data", "fine_labels", "coarse_labels")
    data, *labels = content["data"], content["fine_labels"], content["coarse_labels"]
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape != (len(data), 3072):
        got = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise DataError(f"{path}: expected data to be an array of uint8 (N, 3072), got {got}")
    for level, values in zip(SIZES, labels, strict=True):
        if not isinstance(values, list) or len(values) != len(data):
            got = f"{len(values)}" if isinstance(values, list) else type(values).__name__
            raise DataError(f"{path}: expected {level}_labels to be a list of {len(data)} labels, got {got}")
    return data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels[0], labels[1]


def _unpickle(path: Path, *keys: str) -> dict[str, Any]:
    """A file's dictionary, which must have these keys."""
    if not path.is_file():
        raise missing(path)
    with open(path, "rb") as file:
        try:
            content = _Arrays(file, encoding="latin1").load()
        except Exception as error:  # of what the bytes of a damaged pickle ask for
            raise DataError(f"{path}: truncated, or not a file of CIFAR-100 ({error})") from error
    if not isinstance(content, dict) or not set(keys) <= set(content):
        held = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise DataError(f"{path}: expected a dictionary with {', '.join(keys)}, got {held:.200}")
    return content
