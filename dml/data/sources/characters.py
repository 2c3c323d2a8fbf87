"""Handwritten digits and characters that are downloaded. Each class is a dataset."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, files, folders, label
from dml.data.sources._splits import by_part

URLS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/")
MOST, SHAPE = 60_000, (28, 28)  # images per file, height and width
PARTS = (("train", "train"), ("test", "t10k"))


def _archive(name: str, md5: str) -> Archive:
    return Archive(name, tuple(url + name for url in URLS), md5=md5, extract=False)


class Mnist(FetchedSource):
    """MNIST: 70,000 handwritten digits of 28 x 28 in four idx files.

    Coarse is even/odd. The split is the EPS paper's (Levi et al. 2021, sec. 5.1): digits 0-5 of the training part
    train, digits 0-5 of the test part are `seen`, its digits 6-9 `test`; digits 6-9 of the training part are unused.

    URLs and MD5 sums: torchvision.datasets.MNIST. The content digest is that of the idx files with the unpacked MD5
    sums 6bbc9ace898e44ae57da46a324031adb, a25bea736e30d166cdddb491f175f624 (training images, labels),
    2646ac647ad5339dbf082846283269ea, 27ae3e4e09519cfbb04c329615203637 (test).
    `complete`: False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "mnist"
    mirrors: ClassVar[bool] = False
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    shape: ClassVar[tuple[int, int, int] | None] = (28, 28, 1)
    archives: Sequence[Archive] = (
        _archive("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        _archive("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        _archive("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        _archive("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 36017, "fine": 6, "coarse": 2},
        "seen": {"images": 6031, "fine": 6, "coarse": 2},
        "test": {"images": 3969, "fine": 4, "coarse": 2},
        "all": {"images": 70000, "fine": 10},
    }
    content: str | None = "7af4e4082483ae965701026e8d7c2f0e91bd9e88ee77da06d1101203c38f441d"

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of uint8 (28, 28) arrays: the training part, then the test part."""
        for part, stem in PARTS:
            pixels = raw / f"{stem}-images-idx3-ubyte.gz"
            labels = raw / f"{stem}-labels-idx1-ubyte.gz"
            for row, (image, digit) in enumerate(_pairs(pixels, labels)):
                yield {
                    "image": image,
                    "fine": digit,
                    "coarse": digit % 2,
                    "fine_name": str(digit),
                    "coarse_name": ("even", "odd")[digit % 2],
                    "path": f"{part}/{row:05d}",
                    "part": part,
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train, seen, test and unused (see the module)."""
        return by_part(index, index["fine"].to_numpy() > 5)

    def roles_of(self, index: pd.DataFrame, tested: np.ndarray) -> np.ndarray:
        """The roles if these digits were those that test."""
        return by_part(index, np.isin(index[self.disjoint].to_numpy(), tested))


def _pairs(pixels: Path, labels: Path) -> Iterator[tuple[np.ndarray, int]]:
    for row, (image, digit) in enumerate(zip_longest(_idx(pixels, SHAPE), _idx(labels, ()))):
        if image is None or digit is None:
            raise DataError(f"{pixels} and {labels}: the numbers of images and labels differ")
        yield image, label(int(digit), 10, f"{labels}: row {row}", first=0)


def _idx(path: Path, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The entries of an idx file along its first dimension, uint8 of this shape. Unpacks no more than they need."""
    dimensions = 1 + len(shape)
    try:
        with gzip.open(path) as file:
            magic, count, *stated = struct.unpack(f">{1 + dimensions}i", file.read(4 + 4 * dimensions))
            if magic != 0x800 + dimensions:
                raise DataError(f"{path}: not an idx file of {dimensions} dimensions (magic number {magic:#x})")
            if not 0 <= count <= MOST or tuple(stated) != shape:
                raise DataError(
                    f"{path}: its header says {' x '.join(map(str, (count, *stated)))}, expected at most "
                    f"{' x '.join(map(str, (MOST, *shape)))}"
                )
            size = math.prod(shape)
            for _ in range(count):
                yield np.frombuffer(file.read(size), np.uint8, size).reshape(shape)
            if file.read(1):
                raise DataError(f"{path}: longer than its header says")
    except FileNotFoundError:
        raise DataError(f"{path} is missing: run the download stage") from None
    except (EOFError, ValueError, struct.error, zlib.error, gzip.BadGzipFile) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: truncated or corrupt ({error})") from error


URL = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/"
SETS = ("background", "evaluation")
BACKGROUND = 30  # alphabets


def _of_set(part: str, md5: str) -> Archive:
    name = f"images_{part}.zip"
    return Archive(name, (URL + name,), md5=md5)


class Omniglot(FetchedSource):
    """Omniglot: 1,623 handwritten characters of 50 alphabets, 20 drawings each, 105 x 105, ink 0 on paper 255.

    Fine is the character, coarse the alphabet. Characters of different alphabets are different classes. The 30
    background alphabets train and the 20 evaluation alphabets test (Lake et al. 2015; Levi et al. 2021, sec. 5.1), so
    whole alphabets are disjoint.

    URLs and MD5 sums: torchvision.datasets.Omniglot. `complete`: False accepts a part of the dataset. `alphabets`: how
    many of the background alphabets train, 2 to 30, in the order of their names; the rest are unused.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "omniglot"
    mirrors: ClassVar[bool] = False
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    shape: ClassVar[tuple[int, int, int] | None] = (105, 105, 1)
    disjoint: str = "coarse"
    archives: Sequence[Archive] = (
        _of_set("background", "68d2efa1b9178cc56df9314c21c6e718"),
        _of_set("evaluation", "6b91aef0f799c5bb55b94e3f2daec811"),
    )
    content: str | None = "0a11e1711e209d715964568fedf0da69963dbeafb91896cd3aaae67b8e39642d"

    def __init__(self, complete: bool = True, alphabets: int = BACKGROUND) -> None:
        if not 2 <= alphabets <= BACKGROUND:
            raise ValueError(f"alphabets: expected 2 to {BACKGROUND}, got {alphabets}")
        self.complete = complete
        self.alphabets = alphabets
        whole = alphabets == BACKGROUND
        self.options: dict[str, Any] = {"complete": complete, "alphabets": alphabets}
        train = {"train": {"images": 19280, "fine": 964, "coarse": BACKGROUND}} if whole else {}
        self.counts: Mapping[str, Mapping[str, int]] = train | {"test": {"images": 13180, "fine": 659, "coarse": 20}}

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of PNG files by alphabet, character and drawing: the background set, then the evaluation set."""
        fine = coarse = -1
        for part in SETS:
            for alphabet in folders(raw / f"images_{part}"):
                coarse += 1
                for character in folders(alphabet):
                    fine += 1
                    for drawing in files(character, ".png"):
                        yield {
                            "image": drawing,
                            "fine": fine,
                            "coarse": coarse,
                            "fine_name": f"{alphabet.name}/{character.name}",
                            "coarse_name": alphabet.name,
                            "path": drawing.relative_to(raw).as_posix(),
                            "part": part,
                        }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (background), test (evaluation), and unused (background beyond the first `alphabets`)."""
        background = np.where(index["coarse"].to_numpy() < self.alphabets, "train", "unused")
        return np.where(index["part"].to_numpy() == "background", background, "test")
