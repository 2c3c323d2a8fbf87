"""What one trial trains on and is measured on, opened from the outputs of the data stages.

`data/<study>/pack.json` says where the packed images are; `split/<dataset>.parquet` and `noise/<dataset>.parquet` say
which images a phase uses and with which labels. Nothing here computes a split or a label: it reads what was saved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.data import packed as packed_data
from dml.types import TrialSpec

EVALUATION_ROLES = {
    "validation": ("tune", ("validation",)),
    "test": ("final", ("test", "query", "gallery")),
    "seen": ("final", ("seen",)),
}


@dataclass(frozen=True)
class TrialData:
    """The images of a trial, the labels that it may see, and the rows that it is measured on."""

    packed: packed_data.Packed
    rows: np.ndarray  # int64 (n,): the training images' positions in the packed array
    observed: np.ndarray  # int64 (n,): observed classes 0..K-1, -1 for an image left out
    coarse: np.ndarray  # int64 (n,): their coarse classes, for hierarchical batches
    classes: int  # K
    split: pd.DataFrame

    def evaluation_rows(self, name: str) -> np.ndarray:
        """Positions (m,) of an evaluation set (`validation`, `test` or `seen`) in the packed array.

        Raises
        ------
        ValueError : the split has no such images.
        """
        column, roles = EVALUATION_ROLES[name]
        rows = self.split.loc[self.split[column].isin(roles), "index"].to_numpy()
        if not len(rows):
            raise ValueError(f"evaluation set {name!r}: the split of this dataset has no images in it")
        return rows

    def labels(self, level: str, rows: np.ndarray) -> np.ndarray:
        """The clean labels (m,) of rows, for evaluation alone."""
        return self.packed.index[level].to_numpy(dtype=np.int64)[rows]


def open_data(spec: TrialSpec, data_root: Path) -> TrialData:
    """Open what a trial needs. The images are mapped, not read.

    Raises
    ------
    FileNotFoundError : a stage's output is missing; the message names the stage to run.
    """
    name = spec.dataset["name"]
    opened = open_packed_of(data_root, name)
    split = _table(data_root / "split" / f"{name}.parquet", "split")
    noise = _noise(data_root, name, spec.noise["model"], spec.noise["rate"], spec.seed, spec.phase)
    rows, observed = noise["index"].to_numpy(), noise["observed"].to_numpy()
    classes = np.unique(observed[observed >= 0])
    contiguous = np.where(observed >= 0, np.searchsorted(classes, observed), -1).astype(np.int64)
    coarse = opened.index["coarse"].to_numpy(dtype=np.int64)[rows]
    return TrialData(opened, rows, contiguous, coarse, len(classes), split)


def describe(data_root: Path, name: str, noise: str, rate: float, seed: int, phase: str) -> dict[str, str]:
    """Digests of all the data that one trial sees: they belong to its key.

    The noisy labels are hashed for this model, rate, seed and phase alone, so that adding a rate to a study leaves the
    keys of its other trials as they are.
    """
    noisy = _noise(data_root, name, noise, rate, seed, phase)
    split = _table(data_root / "split" / f"{name}.parquet", "split")
    roles = _hash(split["index"].to_numpy(), *(split[c].to_numpy(dtype="U10") for c in ("final", "tune")))
    return {
        "packed": _manifests(data_root)[name]["digest"],
        "split": roles,
        "labels": _hash(noisy["index"].to_numpy(), noisy["observed"].to_numpy()),
    }


def open_packed_of(data_root: Path, name: str) -> packed_data.Packed:
    """The packed images of a study's dataset.

    Raises
    ------
    FileNotFoundError : they are missing; the message names the stage to run.
    """
    folder = (data_root / _manifests(data_root)[name]["folder"]).resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: the packed images of {name!r} are gone; `dvc repro -f pack` makes them")
    return packed_data.open_packed(folder)


def training_rows(data_root: Path, name: str, phase: str) -> np.ndarray:
    """Rows (n,) of the images that a phase trains on: all training classes to confirm, the fitted half to tune."""
    split = _table(data_root / "split" / f"{name}.parquet", "split")
    column = {"tune": "tune", "confirm": "final"}[phase]
    return split.loc[split[column] == "train", "index"].to_numpy(dtype=np.int64)


def _manifests(data_root: Path) -> Mapping[str, Any]:
    path = data_root / "pack.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: missing; the stage `pack` makes it (run `dvc repro`)")
    return json.loads(path.read_text(encoding="utf-8"))


def _table(path: Path, stage: str) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: missing; the stage `{stage}` makes it (run `dvc repro`)")
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, modified: int) -> pd.DataFrame:
    return pd.read_parquet(path)


def _noise(data_root: Path, name: str, model: str, rate: float, seed: int, phase: str) -> pd.DataFrame:
    table = _table(data_root / "noise" / f"{name}.parquet", "corrupt")
    chosen = table[
        (table["noise"] == model)
        & np.isclose(table["rate"], rate)
        & (table["seed"] == seed)
        & (table["phase"] == phase)
    ]
    if chosen.empty:
        raise FileNotFoundError(
            f"{data_root / 'noise' / name}.parquet has no labels for noise {model!r}, rate {rate}, seed {seed}, "
            f"phase {phase!r}; the stage `corrupt` makes them (run `dvc repro`)"
        )
    return chosen


def _hash(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
