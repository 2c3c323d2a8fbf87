"""Which trained models stay on disk: those of each cell's best seed if they take at most 2 GiB, else of each dataset's
best cell by validation score, with labels as given if there are any; and those that another study starts from.

A storage, which other machines may use, keeps all.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from dml.config.for_use import as_given
from dml.files import Locked, locked
from dml.sweep.store.init_from import validation_scores
from dml.sweep.store.trials import FINISHED, TrialStore
from dml.types import NoiseLevel

SMALL = 2 * 2**30  # bytes: up to this size the models of all cells stay
DELETED = ".model.deleted"
MODEL = "model"
TABLE = "trials.parquet"
COLUMNS = ("key", "cell", "split", "phase", "status", "objective", "dataset", "noise", "rate")


def model_folder(store: TrialStore, key: str) -> Path:
    """The folder of a trial's model."""
    return store.folder(key) / MODEL


def has_model(store: TrialStore, key: str) -> bool:
    """Whether a trial's model is on this disk, or in the listed storage."""
    return (model_folder(store, key) / "model.json").is_file() or f"{MODEL}/model.json" in store.files_there(key, MODEL)


def best_model(trials: pd.DataFrame, store: TrialStore) -> str | None:
    """The key of the trial whose model is a study's best one; None if it has no model with labels as given.

    Of the first cell by validation score with a model, of the first dataset.
    """
    if not as_given(_levels(trials)):
        return None
    rows = _best_models(trials, store)
    return next(iter(rows.loc[rows["dataset"] == trials["dataset"].iloc[0], "key"]), None)


def kept_models(trials: pd.DataFrame, store: TrialStore) -> set[str]:
    """The keys of a study's trials whose models stay."""
    rows = _best_seeds(trials, store)
    sizes = [_size(store, key) for key in rows["key"]]
    cells = len(trials.drop_duplicates(_of_cell(trials)))
    is_small = cells * sum(sizes) <= SMALL * max(1, len(sizes))
    return set((rows if is_small else _best_models(trials, store))["key"])


def dropped(store: TrialStore, results: Path, needed: Iterable[str] = ()) -> set[str]:
    """The keys of the trials whose models are here although no table keeps them.

    What an interrupted sweep has confirmed stays: it has not ended, so it has not chosen.
    """
    named: set[str] = set()
    kept = set(needed)
    for trials in map(_read, results.glob(f"*/{TABLE}")):
        if len(trials):
            named |= set(_confirmed(trials)["key"])
            kept |= kept_models(trials, store)
    for path in store.root.glob(f"sweeps/*.live/{TABLE}"):
        kept |= set(trials["key"]) if len(trials := _read(path)) else set()
    return {key for key in named - kept if model_folder(store, key).is_dir()}


def delete_dropped(store: TrialStore, results: Path, study: str, needed: Iterable[str] = ()) -> tuple[int, int]:
    """Delete the models that no table keeps. Call it only while holding the lock of the study's sweep.

    Does nothing while another study's sweep runs in the same store: it has not chosen yet. Its own end deletes them.
    """
    if any(is_locked(path) for path in store.root.glob("sweeps/*.lock") if path.stem != study):
        return 0, 0
    for left in store.root.glob(f"trials/*/{DELETED}"):  # by a killed process
        shutil.rmtree(left, ignore_errors=True)
    size, keys = 0, dropped(store, results, needed)
    for key in sorted(keys):
        size += _size(store, key)
        away = store.folder(key) / DELETED  # so that a reader sees all of a model or nothing
        model_folder(store, key).rename(away)
        shutil.rmtree(away, ignore_errors=True)
    return len(keys), size


def is_locked(path: Path) -> bool:
    """Whether another process holds a lock."""
    try:
        with locked(path, wait=False):
            return False
    except Locked:
        return True


def _read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path, columns=[name for name in pq.read_schema(path).names if name in COLUMNS])


def _confirmed(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[(trials["phase"] == "confirm") & (trials["status"] == FINISHED)]


def _of_cell(trials: pd.DataFrame) -> list[str]:
    """The columns that identify a cell on a class split."""
    return ["cell", *({"split"} & set(trials.columns))]


def _levels(trials: pd.DataFrame) -> list[NoiseLevel]:
    return [NoiseLevel(*pair) for pair in zip(trials["noise"], trials["rate"], strict=True)]


def _best_seeds(trials: pd.DataFrame, store: TrialStore) -> pd.DataFrame:
    """Of each cell and class split, the row of the highest objective with a model, the first one in a tie."""
    rows = _confirmed(trials)
    rows = rows[np.array([has_model(store, key) for key in rows["key"]], dtype=bool)]
    return rows.sort_values("objective", ascending=False, kind="stable").drop_duplicates(_of_cell(rows)).sort_index()


def _best_models(trials: pd.DataFrame, store: TrialStore) -> pd.DataFrame:
    """Of each dataset, or dataset and noise level, the best seed of the first cell by validation score with a model."""
    rows, given = _best_seeds(trials, store), as_given(_levels(trials))
    rows = rows.assign(level=["" if level in given else str(level) for level in _levels(rows)])
    if given:
        rows = rows[rows["level"] == ""]
    if ranking := list(validation_scores(trials[trials["status"] == FINISHED]).index):
        rows = rows[rows["cell"].isin(ranking)]
        rows = rows.sort_values("cell", key=lambda cells: cells.map(ranking.index), kind="stable")
    return rows.drop_duplicates(["dataset", "level"])


def _size(store: TrialStore, key: str) -> int:
    """The bytes of a trial's model, here or in the listed storage."""
    here = sum(path.stat().st_size for path in model_folder(store, key).rglob("*") if path.is_file())
    return here or sum(store.files_there(key, MODEL).values())
