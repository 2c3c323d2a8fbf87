"""Lets the trials of a study whose models are missing run again, for `keep_models: all` or another's `init_from`.

python -m dml.sweep.retention.retrain STUDY
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from dml.config import load_study
from dml.sweep.retention.models import has_model
from dml.sweep.store.trials import FINISHED, TRIALS, TrialStore, only_sweep

RESULT = "result.json"
SET_ASIDE = "result.without-model.json"


def set_aside(study: str, results: Path, store: Path, storage: str | None = None) -> int:
    """Set the outcomes of a study's confirmed trials without a model aside, so that its next sweep trains them.

    The same settings, seed and versions give the same weights again. A model that only the storage has is not missing.

    Parameters
    ----------
    storage : the study's `resources.storage`, whose outcomes are set aside too.

    Returns
    -------
    The number of trials.

    Raises
    ------
    ValueError : the study has no results.
    RuntimeError : its sweep is running.
    StorageError : the storage cannot be used.
    """
    path = results / study / "trials.parquet"
    if not path.is_file():
        raise ValueError(f"study {study!r} has no results: run it first: dml run {study}")
    trials, place, count = pd.read_parquet(path), TrialStore(store, storage).look(), 0
    with only_sweep(store, study):
        for key in trials[(trials["phase"] == "confirm") & (trials["status"] == FINISHED)]["key"]:
            if has_model(place, key):
                continue
            count += 1
            outcome = place.folder(key) / RESULT
            if outcome.is_file():
                outcome.replace(outcome.with_name(SET_ASIDE))
            if place.remote is not None and (content := place.remote.read(f"{TRIALS}/{key}/{RESULT}")) is not None:
                place.remote.write(f"{TRIALS}/{key}/{SET_ASIDE}", content)
                place.remote.delete_file(f"{TRIALS}/{key}/{RESULT}")
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    name = parser.parse_args().study
    try:
        storage = load_study(Path("pipelines/studies") / f"{name}.yaml").resources.storage
        number = set_aside(name, Path("results"), Path("store"), storage)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"error: {error}")
    command = f"DML_SNAPSHOTS=off dvc repro --force --single-item sweep@{name}"
    print(f"{name}: {number} trials will run again. Set resources.keep_models, then: {command}")
