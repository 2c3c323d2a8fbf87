"""Persons seen by several cameras. Each class is a dataset."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, files, label, missing
from dml.discovery import installed
from dml.settings import check_choice

FOLDER = "Market-1501-v15.09.15"
PARTS = {"bounding_box_train": "train", "query": "query", "bounding_box_test": "gallery"}
PERSONS, JUNK = 1501, 1502
NAME = re.compile(r"(-1|\d{4})_c([1-6])")


class Market1501(FetchedSource):
    """Market-1501: 32,668 pictures of 1,501 persons by six cameras (Zheng et al. 2015).

    A file's name states the person and the camera: `0002_c1s1_000451_03.jpg`. 751 persons train (12,936 images). The
    other 750 persons are queried (3,368 images) against the gallery (15,913 images). The gallery includes 2,798
    distractors (person 0000), detections of nobody that are wrong for every query. 3,819 junk boxes (person -1) are
    `unused`. Fine is the person's number, and `camera` counts from 0. The evaluation skips gallery images of the
    query's person by the query's camera.

    MD5: public loaders. The authors offer the archive on file hosts without a direct download. `complete`: False
    accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "market1501"
    shape: ClassVar[tuple[int, int, int] | None] = (128, 64, 3)
    archives: Sequence[Archive] = (
        Archive(
            f"{FOLDER}.zip",
            md5="65005ab7d12ec1c44de4eeafe813e68a",
            hint="The authors link it from http://www.liangzheng.org/Project/project_reid.html",
        ),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 12936, "fine": 751},
        "query": {"images": 3368, "fine": 750},
        "gallery": {"images": 15913, "fine": 751},
        "unused": {"images": 3819},
    }

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files: training, query and gallery, each by name."""
        for folder, part in PARTS.items():
            for path in files(raw / FOLDER / folder, ".jpg"):
                match = NAME.match(path.name)
                if match is None:
                    raise DataError(f"{path}: expected a name such as 0002_c1s1_000451_03.jpg")
                person = match[1]
                yield {
                    "image": path,
                    "fine": JUNK if person == "-1" else label(person, 1 + PERSONS, path, first=0),
                    "fine_name": {"-1": "junk", "0000": "distractor"}.get(person, person),
                    "path": path.relative_to(raw).as_posix(),
                    "part": part,
                    "camera": int(match[2]) - 1,
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train, query, gallery (with the distractors), and unused for junk."""
        junk = index["fine"].to_numpy() == JUNK
        return np.where(junk, "unused", index["part"].to_numpy().astype(str))


TOTALS = {"labeled": 14096, "detected": 14097}
FIRST_VIEW = 5  # columns 0-4 of a person's ten are the first view
SPLITS = 20


class Cuhk03(FetchedSource):
    """CUHK03: 1,467 persons seen by five pairs of cameras, boxes drawn by hand or detected (Li et al. 2014).

    All images are in one MATLAB 7.3 file, which `h5py` reads. The release has 20 test sets of 100 persons: the set
    `split` is held out, all other persons train. With `split="seed"`, a trial's seed (0 to 19) selects the set. Queries
    are the test persons' images of the first view. The gallery is one image per person of the second view, chosen by a
    hash of its name and the split (single-shot), or the whole second view with `shots="all"`. All other images are
    unused. `camera` counts from 0: pair p, view v is 2 (p - 1) + v - 1.

    The authors give out the archive on request (https://www.ee.cuhk.edu.hk/~xgwang/CUHK_identification.html). MD5:
    public loaders. The numbers of images (14,096 drawn, 14,097 detected) are those of the 767/700 protocol's lists.

    Parameters
    ----------
    boxes : `labeled` (drawn by hand) or `detected`.
    split : which of the 20 test sets, from 0; or `seed`: a trial's seed selects it, and all share the packed images.
    shots : `single`, one gallery image per person, or `all`.
    complete : False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "cuhk03"
    archives: Sequence[Archive] = (
        Archive(
            "cuhk03_release.zip",
            md5="728939e58ad9f0ff53e521857dd8fb43",
            hint="The authors give it out on request: https://www.ee.cuhk.edu.hk/~xgwang/CUHK_identification.html",
        ),
    )

    def __init__(
        self, boxes: str = "labeled", split: int | str = 0, shots: str = "single", complete: bool = True
    ) -> None:
        check_choice("boxes", boxes, tuple(TOTALS))
        check_choice("shots", shots, ("single", "all"))
        if split not in ("seed", *range(SPLITS)):
            raise ValueError(f"split: expected 0 to {SPLITS - 1}, or 'seed', got {split!r}")
        self.boxes, self.split, self.shots, self.complete = boxes, split, shots, complete
        self.options = {"boxes": boxes, "split": split, "shots": shots, "complete": complete}
        self.seeds: Sequence[int] | None = range(SPLITS) if split == "seed" else None
        self._held_out = 0 if split == "seed" else int(split)  # the test set by which `roles` are given
        self.counts = {"train": {"fine": 1367}, "all": {"fine": 1467, "images": TOTALS[boxes]}}

    def for_seed(self, seed: int) -> Cuhk03:
        """The source whose `roles` are those of the test set that a seed selects. Raises ValueError: there is none."""
        source = Cuhk03(**self.options)
        if self.seeds is not None:
            if seed not in self.seeds:
                raise ValueError(f"cuhk03: split is 'seed': expected seeds from 0 to {SPLITS - 1}, got {seed}")
            source._held_out = seed
        return source

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Take the archive from `raw` or a mirror, verify and unpack it."""
        _h5py()
        super().download(raw, report)

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of uint8 (H, W, 3) arrays by camera pair, person and view."""
        path = raw / "cuhk03_release" / "cuhk-03.mat"
        if not path.is_file():
            raise missing(path)
        try:
            file = _h5py().File(path, "r")
        except OSError as error:
            raise DataError(f"{path}: truncated, or not a MATLAB 7.3 file ({error})") from error
        with file:
            sets = file["testsets"][0]
            if self._held_out >= len(sets):
                raise DataError(f"{path}: split is {self.split}, the file has {len(sets)} test sets")
            tests = [{(int(pair), int(person)) for pair, person in file[test][()].T} for test in sets]
            fine = -1
            for pair, persons in enumerate(file[self.boxes][0], start=1):
                cells = file[persons][()].T  # references (persons, 10); MATLAB stores them transposed
                for person, references in enumerate(cells, start=1):
                    fine += 1
                    for column, reference in enumerate(references):
                        image = file[reference][()]
                        if image.ndim != 3:  # an empty cell
                            continue
                        view = 1 if column < FIRST_VIEW else 2
                        yield {
                            "image": np.ascontiguousarray(image.T),
                            "fine": fine,
                            "fine_name": f"{pair}_{person:03d}",
                            "path": f"{self.boxes}/{pair}_{person:03d}_{view}_{column + 1:02d}.png",
                            "part": self._part([(pair, person) in test for test in tests]),
                            "camera": 2 * (pair - 1) + view - 1,
                        }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train, query (first view), gallery (second view) and unused (see the module)."""
        if self.seeds is None:
            test = index["part"].to_numpy() == "test"
        else:
            test = np.array([str(self._held_out) in part.split() for part in index["part"]], dtype=bool)
        first = index["camera"].to_numpy() % 2 == 0
        roles = np.select([~test, first], ["train", "query"], "gallery")
        if self.shots == "single":
            gallery = index[roles == "gallery"]
            keys = [hashlib.sha256(f"{self._held_out}/{path}".encode()).hexdigest() for path in gallery["path"]]
            first_by_hash = pd.Series(keys, gallery.index).groupby(gallery["fine"]).idxmin()
            is_first = np.isin(index.index.to_numpy(), first_by_hash.to_numpy())
            roles = np.where((roles == "gallery") & ~is_first, "unused", roles)
        return roles

    def _part(self, held_out: Sequence[bool]) -> str:
        """`test` or `train`; for a split by seed the numbers of all test sets that contain the person, or `train`."""
        if self.seeds is None:
            return "test" if held_out[self._held_out] else "train"
        return " ".join(str(number) for number, held in enumerate(held_out) if held) or "train"


def _h5py() -> Any:
    if not installed("h5py"):
        raise DataError("cuhk03 is a MATLAB 7.3 file, which needs the package h5py: pip install h5py")
    return importlib.import_module("h5py")
