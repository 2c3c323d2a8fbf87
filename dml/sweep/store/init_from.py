"""Finds the weights that `training.init_from` names: a file, or the model of an earlier study's trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.config import InitFromSection
from dml.sweep.store.best_cells import cells_for_use, validation_scores
from dml.sweep.store.trials import FINISHED
from dml.training.init_from import digest, weights_file
from dml.types import InitFromSpec


class InitFromFinder:
    """Resolves a study's `training.init_from` to files.

    Parameters
    ----------
    results : the folder with the results of all studies.
    store : the folder of trials.
    """

    def __init__(self, results: Path, store: Path):
        self._results, self._store = Path(results), Path(store)

    def __call__(self, section: InitFromSection, dataset: str, seed: int) -> InitFromSpec:
        """The weights for a trial on a dataset with a seed.

        Of a study's cell, the trial with the same seed gives them, or its first one without such a seed. If several
        cells match, that on the dataset of the same name is taken.

        Raises
        ------
        ValueError : there is no such file, study, cell or model; the message lists the choices.
        """
        path = Path(section.path) if section.path is not None else self._model(section, dataset, seed)
        file = weights_file(path)
        return InitFromSpec(digest(file), str(file.resolve()), section.head)

    def key(self, section: InitFromSection, dataset: str, seed: int) -> str:
        """The key of the trial of a study whose weights are taken, as in a call. Raises as a call does."""
        return self._row(section, dataset, seed)["key"]

    def _model(self, section: InitFromSection, dataset: str, seed: int) -> Path:
        row = self._row(section, dataset, seed)
        folder = self._store / "trials" / row["key"] / "model"
        if not folder.is_dir():
            raise ValueError(
                f"{folder}: the model of {row['cell']!r} is missing: published results have none, and "
                f"resources.keep_models says which ones a study keeps. To train those that are missing: "
                f"python -m dml.sweep.retention.retrain {section.study}, then "
                f"DML_SNAPSHOTS=off dvc repro --force --single-item sweep@{section.study}"
            )
        return folder

    def _row(self, section: InitFromSection, dataset: str, seed: int) -> Mapping[str, Any]:
        """The trial's row in the results of its study."""
        trials = self._trials(str(section.study))
        confirmed = trials[(trials["phase"] == "confirm") & (trials["status"] == FINISHED)]
        if confirmed.empty:
            raise ValueError(f"study {section.study!r} has no finished model. {_advice(section)}")
        cell = _best(trials, section, dataset) if section.best else _named(confirmed, section, dataset)
        rows = confirmed[confirmed["cell"] == cell]
        if rows.empty:
            raise ValueError(f"study {section.study!r}: its cell {cell!r} has no finished model. {_advice(section)}")
        same = rows[rows["seed"] == seed]
        return (same if len(same) else rows.sort_values("number")).iloc[0].to_dict()

    def _trials(self, study: str) -> pd.DataFrame:
        path = self._results / study / "trials.parquet"
        if not path.is_file():
            known = sorted(found.parent.name for found in self._results.glob("*/trials.parquet"))
            raise ValueError(
                f"study {study!r} has no results: run it first: dml run {study}. "
                f"Studies with results: {', '.join(known) or 'none'}"
            )
        return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, modified: int) -> pd.DataFrame:
    return pd.read_parquet(path)


def _advice(section: InitFromSection) -> str:
    return f"Run it again: dml run {section.study}"


def _best(trials: pd.DataFrame, section: InitFromSection, dataset: str) -> str:
    """The cell with labels as given and the best validation score, never the best test score; the first in a tie."""
    how = "name one with `cell` in place of `best`"
    own = dataset if dataset in set(trials["dataset"]) else None
    scores = validation_scores(cells_for_use(trials, str(section.study), own, how=how))
    if scores.empty:
        raise ValueError(
            f"best: study {section.study!r} tuned no cell, so none has a validation score: name one with `cell`. "
            f"Choices: {_listed(trials)}"
        )
    return scores.index[0]


def _named(confirmed: pd.DataFrame, section: InitFromSection, dataset: str) -> str:
    """The one cell with the attributes that the section names."""
    matching = confirmed[[_matches(row, section.cell) for row in confirmed.to_dict("records")]]
    found = list(dict.fromkeys(_on(matching, dataset)["cell"]))
    if len(found) != 1:
        count = "no cell" if not found else f"{len(found)} cells"
        choices = _listed(_on(matching, dataset) if found else confirmed)
        raise ValueError(f"cell: {count} of study {section.study!r} with {section.cell}. Choices: {choices}")
    return found[0]


def _on(trials: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The trials on a dataset, if there are any; otherwise all."""
    same = trials[trials["dataset"] == dataset]
    return same if len(same) else trials


def _listed(trials: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(trials["cell"]))


def _matches(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    settings = json.loads(row["settings"])
    for key, value in wanted.items():
        found = settings.get(key) if "." in key else row[key]
        if isinstance(value, float | int) and isinstance(found, float | int):
            if not np.isclose(found, value):
                return False
        elif found != value and not (value is None and pd.isna(found)):
            return False
    return True
