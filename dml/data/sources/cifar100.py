"""CIFAR-100: 60,000 photographs of 32 x 32 of 100 kinds in 20 groups (Krizhevsky 2009).

Fine is the kind, coarse the group. None of the four papers uses it; its split here follows MNIST's in the EPS paper:
of the training part half of the classes train, their images of the test part are `seen`, the other classes' images of
the test part are `test`, the rest is unused. The training half is the first 50 kinds (`disjoint="fine"`: the groups are
shared, so one can train on groups and evaluate on unseen kinds) or the kinds of the first 10 groups (`"coarse"`).

URL and MD5 sum: torchvision.datasets.CIFAR100.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.download import Archive, fetch
from dml.data.sources._files import missing

FOLDER = "cifar-100-python"
ALLOWED = {("multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}


class Cifar100:
    """Small photographs, 32 x 32 RGB.

    Parameters
    ----------
    disjoint : the level whose classes are halved, `fine` or `coarse`.
    complete : False accepts a part of the dataset.
    """

    name: ClassVar[str] = "cifar100"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    archives: ClassVar[tuple[Archive, ...]] = (
        Archive(
            f"{FOLDER}.tar.gz",
            (f"https://www.cs.toronto.edu/~kriz/{FOLDER}.tar.gz",),
            md5="eb9058c3a382ffc7106e4002c42a8d85",
        ),
    )
    counts: ClassVar[Mapping[str, Mapping[str, int]]] = {
        "train": {"images": 25000, "fine": 50},
        "seen": {"images": 5000, "fine": 50},
        "test": {"images": 5000, "fine": 50},
        "all": {"images": 60000, "fine": 100, "coarse": 20},
    }

    def __init__(self, disjoint: str = "fine", complete: bool = True) -> None:
        if disjoint not in ("fine", "coarse"):
            raise ValueError(f"disjoint: {disjoint!r}. Choices: fine, coarse")
        self.disjoint, self.complete = disjoint, complete

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Fetch, verify and unpack the archive (169 MB) into `raw`."""
        fetch(self, raw, report)

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of uint8 (32, 32, 3) arrays: the training part, then the test part."""
        meta = _unpickle(raw / FOLDER / "meta")
        for part in ("train", "test"):
            batch = _unpickle(raw / FOLDER / part)
            pixels = batch["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            for row, (image, fine, coarse) in enumerate(
                zip(pixels, batch["fine_labels"], batch["coarse_labels"], strict=True)
            ):
                yield {
                    "image": np.ascontiguousarray(image),
                    "fine": fine,
                    "coarse": coarse,
                    "fine_name": meta["fine_label_names"][fine],
                    "coarse_name": meta["coarse_label_names"][coarse],
                    "path": f"{part}/{row:05d}",
                    "part": part,
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train, seen, test and unused, as the module says."""
        known = index[self.disjoint].to_numpy() < (50 if self.disjoint == "fine" else 10)
        train = index["part"].to_numpy() == "train"
        return np.select([known & train, known, ~train], ["train", "seen", "test"], "unused")


class _Arrays(pickle.Unpickler):
    """Reads arrays, lists and strings; anything else in the file is refused, since it could run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module.removeprefix("numpy.core.").removeprefix("numpy._core."), name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        if name == "_reconstruct":
            return np.empty(0).__reduce__()[0]
        return super().find_class(module, name)


def _unpickle(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise missing(path)
    with open(path, "rb") as file:
        try:
            return _Arrays(file, encoding="latin1").load()
        except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError, KeyError) as error:
            raise DataError(f"{path}: truncated, or not CIFAR-100's ({error})") from error
