"""Datasets from the handwritten digits that scikit-learn contains: no download. Each class is a dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml import seeding
from dml.data.sources._files import SourceDefaults


def _bundled() -> tuple[np.ndarray, np.ndarray]:
    """The images (1797, 8, 8), 0 to 16, and their digits, of scikit-learn's file; to import it takes 1.2 s."""
    spec = find_spec("sklearn")
    assert spec is not None
    table = np.loadtxt(Path(str(spec.origin)).parent / "datasets/data/digits.csv.gz", delimiter=",")
    return table[:, :-1].reshape(-1, 8, 8), table[:, -1].astype(int)


class Digits(SourceDefaults):
    """The handwritten digits bundled with scikit-learn: 1797 images of 8 x 8, no download.

    Coarse is even/odd, as in the EPS paper's MNIST (Levi et al. 2021, sec. 5.1). Digits 0-5 train, except a stratified
    share that is held out as `seen`. Digits 6-9 test. Pixels 0..16 are scaled to 0..255.

    Source: E. Alpaydin, C. Kaynak, UCI "Optical Recognition of Handwritten Digits", test part. `seen_share`: share of
    each training digit's images that is held out as `seen`. The choice never changes.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "digits"
    mirrors: ClassVar[bool] = False
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"fine": 6, "coarse": 2},
        "all": {"images": 1797, "fine": 10, "coarse": 2},
    }

    def __init__(self, seen_share: float = 0.2) -> None:
        if not 0 <= seen_share < 1:
            raise ValueError(f"seen_share: expected at least 0 and below 1, got {seen_share!r}")
        self.seen_share = seen_share
        self.options = {"seen_share": seen_share}

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Nothing to fetch."""
        report("digits: bundled with scikit-learn, nothing to download")

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of uint8 (8, 8) arrays, in scikit-learn's order."""
        images, digits = _bundled()
        pixels = np.rint(images * (255 / 16)).astype(np.uint8)
        for row, (image, digit) in enumerate(zip(pixels, digits.tolist(), strict=True)):
            yield {
                "image": image,
                "fine": digit,
                "coarse": digit % 2,
                "fine_name": str(digit),
                "coarse_name": ("even", "odd")[digit % 2],
                "path": f"digits/{row:04d}",
                "part": "all",
            }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train and seen (digits 0-5), test (6-9). A hash of the path decides which images are seen."""
        roles = np.where(index["fine"].to_numpy() <= 5, "train", "test").astype(object)
        for digit in range(6):
            rows = np.flatnonzero(index["fine"].to_numpy() == digit)
            order = sorted(rows, key=lambda row: hashlib.sha256(index["path"].iloc[row].encode()).digest())
            roles[order[: round(self.seen_share * len(rows))]] = "seen"
        return roles.astype(str)


SIDE = 8  # pixels of a digit's image
SIDES = (0.62, 0.68)  # of a drawn digit, as a share of the canvas's height
ACROSS, DOWN = 0.08, 0.15  # how far a digit moves at most, as shares of the canvas's width and height
PLACES = (0.275, 0.725)  # of the centres of tens and units, as shares of the width
TURN = 0.12  # radians, at most
INK = 0.5  # of full ink: a fragment's centre has at least this


class Numbers(SourceDefaults):
    """Two-digit numbers made from scikit-learn's handwritten digits: 100 classes, no download.

    A picture shows two digits side by side. Each is an image of 8 x 8, turned, scaled and moved at
    random: pixel (x, y) of the canvas is the bilinear interpolation of the image at

        ((cos t, sin t), (-sin t, cos t)) (x - cx, y - cy) 8 / s

    with its centre (cx, cy), angle t and side s; where the two overlap, the brighter value counts. Coarse is the tens.

    The 60 numbers with (tens + 2 units) mod 5 below 3 train, the other 40 test. Each digit is in each place of six
    training and of four test numbers. The first half of a digit's images, in scikit-learn's order, makes the training
    pictures, the second half those of the test. The order follows the writers, so the test is by mostly other writers.

    Class splits exchange the numbers that train and test, so a fold's test pictures may show digits of its training
    pictures. With `apart` each number is drawn in both handwritings, and only the pictures of its side are used: in
    every fold, no test picture shows a digit that a training picture shows.

    Source: E. Alpaydin, C. Kaynak, UCI "Optical Recognition of Handwritten Digits", test part.

    Parameters
    ----------
    per_class : pictures of each number.
    size : height of a picture in pixels; it is half as wide again.
    clutter : fragments of other digits' strokes in each picture, 3 x 3 pixels of a digit's image each.
    seed : of all random choices.
    apart : draw every number in both handwritings, so that class splits keep them apart; twice as many pictures.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "numbers"
    mirrors: ClassVar[bool] = False
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    shared: str = "handwriting"

    def __init__(
        self, per_class: int = 30, size: int = 16, clutter: int = 0, seed: int = 0, apart: bool = False
    ) -> None:
        for name, value, least in (("per_class", per_class, 2), ("size", size, 8), ("clutter", clutter, 0)):
            if value < least:
                raise ValueError(f"{name}: expected at least {least}, got {value!r}")
        self.per_class, self.size, self.clutter, self.seed = per_class, size, clutter, seed
        self.apart, self.shared = bool(apart), "" if apart else "handwriting"
        self.options: Mapping[str, Any] = {"per_class": per_class, "size": size, "clutter": clutter, "seed": seed}
        self.options = {**self.options, **({"apart": True} if apart else {})}
        drawn = {"train": 100, "test": 100, "all": 200} if apart else {"train": 60, "test": 40, "all": 100}
        self.counts = {
            part: {"images": count * per_class, "fine": min(count, 100), "coarse": 10} for part, count in drawn.items()
        }

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Nothing to fetch."""
        report("numbers: made from digits bundled with scikit-learn, nothing to download")

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of uint8 (size, 1.5 size) arrays, from 00 to 99."""
        halves = _halves()
        for number in range(100):
            tens, units = divmod(number, 10)
            half, other = ("train", "test") if _trains(tens, units) else ("test", "train")
            pictures = [(half, image) for image in self._drawn(number, halves[half])]
            if self.apart:
                pictures += [
                    (other, image) for image in self._drawn(number, halves[other], " in the other handwriting")
                ]
            for row, (part, image) in enumerate(pictures):
                yield {
                    "image": image,
                    "fine": number,
                    "coarse": tens,
                    "fine_name": f"{number:02d}",
                    "coarse_name": f"{tens}0-{tens}9",
                    "path": f"numbers/{number:02d}/{row:04d}",
                    "part": part,
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (60 numbers) and test (40)."""
        numbers = index["fine"].unique()
        return self.roles_of(index, numbers[~_trains(*np.divmod(numbers, 10))])

    def roles_of(self, index: pd.DataFrame, tested: np.ndarray) -> np.ndarray:
        """The roles if these numbers tested; `apart`, pictures in the handwriting of the other side are unused."""
        roles = np.where(np.isin(index["fine"], tested), "test", "train")
        return np.where(index["part"] == roles, roles, "unused") if self.apart else roles

    def _drawn(self, number: int, digits: list[np.ndarray], which: str = "") -> np.ndarray:
        """uint8 (per_class, height, width): the pictures of a number. `digits` has images of 0 to 9, (n, 8, 8) each."""
        canvas = np.zeros((self.per_class, self.size, self.size * 3 // 2))
        draw = seeding.numpy_generator(self.seed, f"digits of {number:02d}{which}")
        for digit, place in zip(divmod(number, 10), PLACES, strict=True):
            images = digits[digit][draw.integers(len(digits[digit]), size=self.per_class)]
            centre = np.stack(
                [0.5 + draw.uniform(-DOWN, DOWN, self.per_class), place + draw.uniform(-ACROSS, ACROSS, self.per_class)]
            )
            _add(canvas, images, centre, draw)
        draw = seeding.numpy_generator(self.seed, f"clutter of {number:02d}{which}")
        for _ in range(self.clutter):
            _add(canvas, _fragments(digits, self.per_class, draw), draw.uniform(size=(2, self.per_class)), draw)
        return np.rint(255 * canvas).astype(np.uint8)


def _trains(tens: Any, units: Any) -> Any:
    return (tens + 2 * units) % 5 < 3


def _halves() -> dict[str, list[np.ndarray]]:
    """The images that make pictures for `train` and `test`: float (n, 8, 8) of each digit, from 0 to 1."""
    images, digits = _bundled()
    of_digits = [images[digits == digit] / 16 for digit in range(10)]
    return {
        "train": [images[: len(images) // 2] for images in of_digits],
        "test": [images[len(images) // 2 :] for images in of_digits],
    }


def _fragments(digits: list[np.ndarray], count: int, draw: np.random.Generator) -> np.ndarray:
    """float (count, 8, 8): windows of 3 x 3 pixels around ink of random digits, in the middle of empty images."""
    out = np.zeros((count, SIDE, SIDE))
    for row in range(count):
        images = digits[draw.integers(10)]
        image = images[draw.integers(len(images))]
        y, x = np.argwhere(image[1:-1, 1:-1] >= INK)[draw.integers((image[1:-1, 1:-1] >= INK).sum())]
        out[row, 3:6, 3:6] = image[y : y + 3, x : x + 3]
    return out


def _add(canvas: np.ndarray, images: np.ndarray, centre: np.ndarray, draw: np.random.Generator) -> None:
    """Draw an image (n, 8, 8) on each canvas (n, H, W), at `centre` (2, n) as shares of H and W."""
    count, height, width = canvas.shape
    turn = draw.uniform(-TURN, TURN, (count, 1, 1))
    shrink = SIDE / (height * draw.uniform(*SIDES, (count, 1, 1)))
    # Rounded: the last bit of these functions depends on the processor, that of the other operations does not.
    cosine, sine = np.cos(turn).round(9), np.sin(turn).round(9)
    down = np.arange(height)[None, :, None] + 0.5 - height * centre[0][:, None, None]
    across = np.arange(width)[None, None, :] + 0.5 - width * centre[1][:, None, None]
    y = np.clip((cosine * down - sine * across) * shrink + (SIDE - 1) / 2, -1, SIDE) + 1  # of the padded image
    x = np.clip((cosine * across + sine * down) * shrink + (SIDE - 1) / 2, -1, SIDE) + 1
    top, left = np.minimum(y.astype(int), SIDE), np.minimum(x.astype(int), SIDE)
    y, x = y - top, x - left
    padded, row = np.pad(images, ((0, 0), (1, 1), (1, 1))), np.arange(count)[:, None, None]
    upper = padded[row, top, left] * (1 - x) + padded[row, top, left + 1] * x
    lower = padded[row, top + 1, left] * (1 - x) + padded[row, top + 1, left + 1] * x
    np.maximum(canvas, upper * (1 - y) + lower * y, out=canvas)
