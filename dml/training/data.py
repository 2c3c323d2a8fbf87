"""A trial's images and labels, opened from the outputs of the data stages in `data/<study>`, which this only reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dml.data import splits
from dml.data.packing import Packed, open_packed
from dml.seeding import numpy_generator
from dml.types import VALIDATION, TrialSpec, observed_levels

if TYPE_CHECKING:
    from dml.config import DatasetSection, Study

MOST = 10_000  # images
WHOLE = 100  # images; a smaller class is never thinned


def sample(rows: np.ndarray, classes: np.ndarray, most: int = MOST) -> np.ndarray:
    """At most `most` of the images, the same for every trial of a dataset: rows int64 (n,) of classes (n,) -> (m,).

    Classes keep equally many images, but at least `WHOLE`; of these, random whole classes are taken while they fit.
    """
    if len(rows) <= most:
        return rows
    draw = numpy_generator(0, "evaluated training images")
    _, code, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    keep = min(most, max(WHOLE, most // len(sizes)))
    order = draw.permutation(len(rows))
    order = order[np.argsort(code[order], kind="stable")]  # by class, in random order within each
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn = draw.permutation(len(sizes))
    fitting = turn[np.cumsum(np.minimum(sizes[turn], keep)) <= most]
    return rows[np.sort(order[(rank < keep) & np.isin(code[order], fitting)])]


EVALUATION_ROLES = {
    "validation": ("tune", ("validation",)),
    "test": ("final", ("test", "query", "gallery")),
    "seen": ("final", ("seen",)),
    "train": ("final", ("train",)),
}
"""For each evaluation set, the column of the split and the roles there that its images have."""


@dataclass(frozen=True)
class TrialData:
    """The images of a trial, the labels it trains on, and the rows it is evaluated on."""

    packed: Packed
    rows: np.ndarray  # int64 (n,): rows of the training images in the packed array
    observed: np.ndarray  # int64 (n,): their observed classes 0..K-1; -1 for an image left out
    coarse: np.ndarray  # int64 (n,): their coarse classes, for hierarchical batches
    classes: int  # K
    split: pd.DataFrame
    protocol: str = "refit"
    flipped: np.ndarray | None = None  # bool (n,): which observed labels are wrong. Only evaluation uses them
    backbone: Path | None = None  # the weights of the network that gave the stored features or activations
    layers: Mapping[str, int] | None = None  # the widths of the stored features of several layers, side by side
    validation: pd.Series | None = None  # observed classes of validation images, by row; None: true labels choose
    train_on: str = "fine"  # the level of the observed labels

    def evaluation_rows(self, name: str) -> np.ndarray:
        """Rows (m,) of an evaluation set (`validation`, `test`, `seen` or `train`) in the packed array."""
        if name == VALIDATION and self.validation is not None:
            return self.validation.index.to_numpy()
        column, roles = EVALUATION_ROLES[name]
        rows = self.split.loc[self.split[column].isin(roles), "index"].to_numpy()
        if self.protocol == "train_val_test" and name != "test":  # of the half of the training classes that fits
            fine = self.labels("fine", self.split.loc[self.split["tune"] == "train", "index"].to_numpy())
            rows = rows[np.isin(self.labels("fine", rows), fine)]
        if not len(rows):
            raise ValueError(f"evaluation set {name!r}: the split of this dataset has no images in it")
        return sample(rows, self.labels("fine", rows)) if name == "train" else rows

    def scored_labels(self, name: str, level: str, rows: np.ndarray) -> np.ndarray:
        """The labels (m,) that scores of some rows count by: true ones, or of validation images those that choose."""
        if name == VALIDATION and self.validation is not None and level in observed_levels(self.train_on):
            return self.validation.loc[rows].to_numpy()
        return self.labels(level, rows)

    def labels(self, level: str, rows: np.ndarray) -> np.ndarray:
        """The clean labels (m,) of some rows, or those as given (level `given`). Evaluation and oracles use them."""
        if level == "given":
            return splits.given_labels(self.packed.index, "fine")[rows]
        return self.packed.index[level].to_numpy(dtype=np.int64)[rows]


def open_data(spec: TrialSpec, data_root: Path) -> TrialData:
    """Open a trial's data. The images are mapped, not read. Raises FileNotFoundError."""
    name = spec.dataset.name
    opened = open_packed_of(data_root, name)
    split = split_of(data_root, name, spec.seed)
    noise = _noise(data_root, name, spec.noise.model, spec.noise.rate, spec.seed, spec.data_phase)
    rows, observed = noise["index"].to_numpy(), noise["observed"].to_numpy()
    classes = np.unique(observed[observed >= 0])
    contiguous = np.where(observed >= 0, np.searchsorted(classes, observed), -1).astype(np.int64)
    coarse = opened.index["coarse"].to_numpy(dtype=np.int64)[rows]
    flipped = noise["flipped"].to_numpy(dtype=bool)
    validation = _noise_of(data_root, name, spec.noise.model, spec.noise.rate, spec.seed, VALIDATION)
    return TrialData(
        opened,
        rows,
        contiguous,
        coarse,
        len(classes),
        split,
        spec.protocol,
        flipped=flipped,
        validation=None if validation.empty else validation.set_index("index")["observed"],
        train_on=spec.dataset.train_on,
    )


def check_sets(split: pd.DataFrame, sets: Sequence[str], name: str) -> None:
    """Raise a ValueError unless each evaluation set has images; the message lists those that have."""
    full = [s for s in ("test", "seen", "train") if split["final"].isin(EVALUATION_ROLES[s][1]).any()]
    for empty in (s for s in sets if s not in full):
        roles, choices = ", ".join(sorted(set(split["final"]))), ", ".join(full)
        raise ValueError(
            f"dataset {name!r}: evaluation.sets names {empty!r}, but none of its images is "
            f"{' or '.join(EVALUATION_ROLES[empty][1])}. Roles of its images: {roles}. Choices: {choices}, as in "
            f"evaluation: {{sets: [{full[0]}]}}"
        )


def check_labels(study: Study, dataset: DatasetSection, index: pd.DataFrame, table: pd.DataFrame) -> None:
    """That the images have the labels and the sets that the study names."""
    used = index[(table["final"] != "unused").to_numpy()]
    for level in (dataset.train_on, *dataset.evaluate_on):
        lacking = not {"given_fine", "verified"} & set(used) if level == "given" else (used[level] < 0).any()
        if lacking:
            raise ValueError(f"dataset {dataset.label!r}: the study names {level!r} labels, which its images lack")
    if "verified" in used and dataset.evaluate_on != ["given"]:
        raise ValueError(
            f"dataset {dataset.label!r}: its labels are only as given, none is verified: expected "
            "`evaluate_on: [given]`, so that scores are marked as measured against given labels"
        )
    check_sets(table, study.evaluation.sets, dataset.label)


def check_pairs(split: pd.DataFrame, labels: np.ndarray, name: str, dataset: str) -> None:
    """Raise a ValueError if no query of an evaluation set has a match, by labels (n,) of the packed rows."""
    column, roles = EVALUATION_ROLES[name]
    images = split[split[column].isin(roles)]
    labels, role = labels[images["index"].to_numpy()], images[column].to_numpy()
    classes = len(np.unique(labels))
    paired = classes < len(labels)
    if name == "test" and has_queries(split):
        paired = bool(np.isin(labels[role == "query"], labels[role == "gallery"]).any())
    if not paired:
        raise ValueError(
            f"dataset {dataset!r}: no query in the evaluation set {name!r} has a match, so nothing can be scored: "
            f"expected a class with two images there, got {len(labels)} images of {classes} classes"
        )


def describe(data_root: Path, name: str, noise: str, rate: float, seed: int, phase: str) -> dict[str, str]:
    """Digests `packed`, `split` and `labels` of a trial's data, which other rates of a study do not change."""
    noisy = _noise(data_root, name, noise, rate, seed, phase)
    if phase == "tune":
        noisy = pd.concat([noisy, _noise_of(data_root, name, noise, rate, seed, VALIDATION)])
    split = split_of(data_root, name, seed)
    roles = [split["index"].to_numpy(), *(split[c].to_numpy(dtype="U10") for c in ("final", "tune"))]
    if has_queries(split):  # then cameras decide the scores; the digest of the packed images does not contain them
        roles.append(open_packed_of(data_root, name).index["camera"].to_numpy(dtype=np.int64))
    return {
        "packed": _manifest(data_root, name)["digest"],
        "split": _hash(*roles),
        "labels": _hash(noisy["index"].to_numpy(), noisy["observed"].to_numpy()),
    }


def has_queries(split: pd.DataFrame) -> bool:
    """Whether queries search a gallery, in which images of their own camera do not count."""
    return bool((split["final"] == "query").any())


def open_packed_of(data_root: Path, name: str) -> Packed:
    """The packed images of one of a study's datasets. Raises FileNotFoundError."""
    folder = (data_root / _manifest(data_root, name)["folder"]).resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: the packed images of {name!r} are missing; run `dvc repro -f pack`")
    return open_packed(folder)


def split_of(data_root: Path, name: str, seed: int | None = None) -> pd.DataFrame:
    """The split of a dataset: that of a seed, where seeds select it (see `dml.protocols.SplitBySeed`)."""
    return _table(splits.file_of(data_root / "split", name, seed), "split")


def seeds_by_split(data_root: Path, name: str, seeds: Sequence[int]) -> list[list[int]]:
    """Seeds in groups that share a split: each seed alone where seeds select it."""
    files = {seed: splits.file_of(data_root / "split", name, seed) for seed in seeds}
    return [[seed for seed in seeds if files[seed] == file] for file in dict.fromkeys(files.values())]


def training_rows(data_root: Path, name: str, phase: str, seed: int | None = None, given: bool = False) -> np.ndarray:
    """Rows (n,) of a phase's training images: all training classes to `confirm`, half of them to `tune`."""
    split = split_of(data_root, name, seed)
    column = {"tune": "tune", "confirm": "final"}[phase] + ("_given" if given else "")
    if column not in split:
        raise ValueError(f"dataset {name!r} has no labels as given beside verified ones, which noise 'given' needs")
    return split.loc[split[column] == "train", "index"].to_numpy(dtype=np.int64)


def given_of(packed: Packed, level: str, rows: np.ndarray) -> np.ndarray:
    """The labels as given int64 (m,) of some rows. Raises ValueError."""
    if f"given_{level}" not in packed.index:
        raise ValueError(f"{packed.folder}: the images have no {level} labels as given")
    return splits.given_labels(packed.index, level)[rows]


def _manifest(data_root: Path, name: str) -> Mapping[str, Any]:
    """Of a dataset's images, which all its class splits share."""
    path = data_root / "pack.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: missing; the stage `pack` writes it (run `dvc repro`)")
    return json.loads(path.read_text(encoding="utf-8"))[splits.dataset_of(name)]


def _table(path: Path, stage: str) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: missing; the stage `{stage}` writes it (run `dvc repro`)")
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, modified: int) -> pd.DataFrame:
    return pd.read_parquet(path)


def _noise(data_root: Path, name: str, model: str, rate: float, seed: int, phase: str) -> pd.DataFrame:
    labels = _noise_of(data_root, name, model, rate, seed, phase)
    if labels.empty:
        raise FileNotFoundError(
            f"{data_root / 'noise' / name}.parquet has no labels for noise {model!r}, rate {rate}, seed {seed}, "
            f"phase {phase!r}; the stage `corrupt` writes them (run `dvc repro`)"
        )
    return labels


def _noise_of(data_root: Path, name: str, model: str, rate: float, seed: int, phase: str) -> pd.DataFrame:
    """The rows of the stage `corrupt`; none if it wrote none."""
    table = _table(data_root / "noise" / f"{name}.parquet", "corrupt")
    same = (table["noise"] == model) & (table["seed"] == seed) & (table["phase"] == phase)
    return table[same & np.isclose(table["rate"], rate)]


def _hash(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
