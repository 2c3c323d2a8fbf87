"""Omniglot: 1,623 handwritten characters of 50 alphabets, 20 drawings each, 105 x 105, ink 0 on paper 255.

Fine is the character, coarse the alphabet. Characters of different alphabets are different classes. The 30 background
alphabets train and the 20 evaluation alphabets test (Lake et al. 2015; Levi et al. 2021, sec. 5.1), so whole alphabets
are disjoint.

URLs and MD5 sums: torchvision.datasets.Omniglot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, files, folders

URL = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/"
PARTS = ("background", "evaluation")
BACKGROUND = 30  # alphabets


def _archive(part: str, md5: str) -> Archive:
    name = f"images_{part}.zip"
    return Archive(name, (URL + name,), md5=md5)


class Omniglot(FetchedSource):
    """Handwritten characters, 105 x 105 grey.

    Parameters
    ----------
    complete : False accepts a part of the dataset.
    alphabets : how many of the background alphabets train, 2 to 30, in the order of their names; the rest are unused.

    Raises
    ------
    ValueError : `alphabets` is outside of 2 to 30.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "omniglot"
    mirrors: ClassVar[bool] = False
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    shape: ClassVar[tuple[int, int, int] | None] = (105, 105, 1)
    disjoint: str = "coarse"
    archives: Sequence[Archive] = (
        _archive("background", "68d2efa1b9178cc56df9314c21c6e718"),
        _archive("evaluation", "6b91aef0f799c5bb55b94e3f2daec811"),
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
        for part in PARTS:
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
