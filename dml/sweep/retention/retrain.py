"""Lets the trials of a study whose models are missing run again, for `keep_models: all` or another's `init_from`.

python -m dml.sweep.retention.retrain STUDY
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from dml.sweep.retention.models import model_folder
from dml.sweep.store.trials import FINISHED, TrialStore, only_sweep

SET_ASIDE = "result.without-model.json"


def set_aside(study: str, results: Path, store: Path) -> int:
    """Set the outcomes of a study's confirmed trials without a model aside, so that its next sweep trains them.

    The same settings, seed and versions give the same weights again.

    Returns
    -------
    The number of trials.

    Raises
    ------
    ValueError : the study has no results.
    RuntimeError : its sweep is running.
    """
    path = results / study / "trials.parquet"
    if not path.is_file():
        raise ValueError(f"study {study!r} has no results: run it first: dml run {study}")
    trials, place, count = pd.read_parquet(path), TrialStore(store), 0
    with only_sweep(store, study):
        for key in trials[(trials["phase"] == "confirm") & (trials["status"] == FINISHED)]["key"]:
            outcome = place.folder(key) / "result.json"
            if not model_folder(place, key).is_dir():
                count += 1
                if outcome.is_file():
                    outcome.replace(outcome.with_name(SET_ASIDE))
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    name = parser.parse_args().study
    try:
        number = set_aside(name, Path("results"), Path("store"))
    except (ValueError, RuntimeError) as error:
        sys.exit(f"error: {error}")
    command = f"DML_SNAPSHOTS=off dvc repro --force --single-item sweep@{name}"
    print(f"{name}: {number} trials will run again. Set resources.keep_models, then: {command}")
