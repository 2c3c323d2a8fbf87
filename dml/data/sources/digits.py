"""The handwritten digits bundled with scikit-learn: 1797 images of 8 x 8, no download.

Coarse is even/odd, as in the EPS paper's MNIST (Levi et al. 2021, sec. 5.1). Digits 0-5 train, except a stratified
share that is held out as `seen`. Digits 6-9 test. Pixels 0..16 are scaled to 0..255.

Source: E. Alpaydin, C. Kaynak, UCI "Optical Recognition of Handwritten Digits", test part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.sources._files import SourceDefaults


def bundled() -> tuple[np.ndarray, np.ndarray]:
    """The images (1797, 8, 8), 0 to 16, and their digits, of scikit-learn's file; to import it takes 1.2 s."""
    spec = find_spec("sklearn")
    assert spec is not None
    table = np.loadtxt(Path(str(spec.origin)).parent / "datasets/data/digits.csv.gz", delimiter=",")
    return table[:, :-1].reshape(-1, 8, 8), table[:, -1].astype(int)


class Digits(SourceDefaults):
    """Handwritten digits, 8 x 8 grey.

    Parameters
    ----------
    seen_share : share of each training digit's images that is held out as `seen`. The choice never changes.
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
        images, digits = bundled()
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
