"""Finds the weights that `training.init_from` names: a file, or the model of an earlier study's trial."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.config import InitFromSection, Study, content_of, load_study
from dml.config.for_use import dataset_for_use, levels_for_use
from dml.config.parts import NO_FILTER
from dml.files import study_files
from dml.snapshots import snapshots
from dml.sweep.store.trials import FINISHED, Outcome
from dml.training.model_files import digest, weights_file
from dml.types import TUNING_SEED, InitFromSpec, NoiseLevel


def cells_for_use(trials: pd.DataFrame, study: str, dataset: str | None, noise: str | None) -> pd.DataFrame:
    """The finished trials of a dataset whose labels are as given, or at another noise level."""
    rows = trials[trials["dataset"] == dataset_for_use(trials["dataset"], dataset, study)]
    levels = [NoiseLevel(*pair) for pair in zip(rows["noise"], rows["rate"], strict=True)]
    chosen = levels_for_use(levels, noise, study)
    rows = rows[[level in chosen for level in levels]]
    return rows[rows["status"] == FINISHED]


def validation_scores(trials: pd.DataFrame) -> pd.Series:
    """By cell: the objective of its best tuning trial, the mean over class splits, the highest first."""
    tuned = trials[(trials["phase"] == "tune") & trials["objective"].notna()]
    split = tuned["split"] if "split" in tuned else pd.Series(0, tuned.index)
    best = tuned["objective"].groupby([tuned["cell"], split], sort=False).max()
    return best.groupby(level=0, sort=False).mean().sort_values(ascending=False, kind="stable")


class InitFromFinder:
    """Resolves a study's `training.init_from` to files."""

    def __init__(self, results: Path, store: Path):
        self._results, self._store = Path(results), Path(store)

    def __call__(self, section: InitFromSection, dataset: str, seed: int) -> InitFromSpec:
        """The weights for a trial on a dataset with a seed: of a file, or of the trial with this `key`."""
        file = weights_file(Path(section.path) if section.path is not None else self._model(section, dataset, seed))
        return InitFromSpec(digest(file), str(file.resolve()))

    def _model(self, section: InitFromSection, dataset: str, seed: int) -> Path:
        folder = self._store / "trials" / self.key(section, dataset, seed) / "model"
        if not folder.is_dir():
            raise ValueError(
                f"{folder}: the model is missing: published results have none, and a study keeps those of the best "
                f"seeds, and those that other studies start from. To train it: delete {folder.parent}, then "
                f"DML_SNAPSHOTS=off dvc repro --force --single-item sweep@{section.study}"
            )
        return folder

    def key(self, section: InitFromSection, dataset: str, seed: int) -> str:
        """The key of the trial of a study's cell with the same seed, or of the first one without such a seed.

        If several cells match, that on the dataset of the same name is taken. Raises ValueError if none does.
        """
        trials = self._trials(str(section.study))
        confirmed = trials[(trials["phase"] == "confirm") & (trials["status"] == FINISHED)]
        if confirmed.empty:
            raise ValueError(f"study {section.study!r} has no finished model. Run it again: dml run {section.study}")
        rows = confirmed[confirmed["cell"] == _named(confirmed, section, dataset)]
        if "split" in rows and rows["split"].nunique() > 1:
            raise ValueError(
                f"study {section.study!r} has class splits, whose models were trained on classes that others test: "
                "expected a study with one class split"
            )
        same = rows[rows["seed"] == seed]
        return (same if len(same) else rows.sort_values("number"))["key"].iloc[0]

    def _trials(self, study: str) -> pd.DataFrame:
        path = self._results / study / "trials.parquet"
        if not path.is_file():
            choices = sorted(table.parent.name for table in self._results.glob("*/trials.parquet"))
            raise ValueError(
                f"study {study!r} has no results: run it first: dml run {study}. "
                f"Studies with results: {', '.join(choices) or 'none'}"
            )
        return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, modified: int) -> pd.DataFrame:
    return pd.read_parquet(path)


def _named(confirmed: pd.DataFrame, section: InitFromSection, dataset: str) -> str:
    """The one cell with the attributes that the section names."""
    matching = confirmed[[_matches(row, section.cell) for row in confirmed.to_dict("records")]]
    here = matching[matching["dataset"] == dataset]
    cells = list(dict.fromkeys((here if len(here) else matching)["cell"]))
    if len(cells) != 1:
        count = f"{len(cells)} cells" if cells else "no cell"
        choices = ", ".join(cells or dict.fromkeys(confirmed["cell"]))
        raise ValueError(f"cell: {count} of study {section.study!r} with {section.cell}. Choices: {choices}")
    return cells[0]


def _matches(row: Mapping[str, Any], attributes: Mapping[str, Any]) -> bool:
    settings = json.loads(row["settings"])
    for key, expected in attributes.items():
        value = settings.get(key) if "." in key else row.get(key)
        if key == "filter":
            value = NO_FILTER if pd.isna(value) else str(value).partition("(")[0]
        if not any(_same(value, each) for each in (expected if isinstance(expected, list) else [expected])):
            return False
    return True


def _same(value: Any, expected: Any) -> bool:
    if isinstance(expected, float | int) and isinstance(value, float | int):
        return bool(np.isclose(value, expected))
    return bool(value == expected or (expected is None and pd.isna(value)))


def starts_of(study: Study) -> list[InitFromSection]:
    """The sections `training.init_from` of a study's cells that name another study."""
    starts = {repr(start): start for cell in study.cells() if (start := study.training_of(cell).init_from) is not None}
    return [start for start in starts.values() if start.study is not None]


def studies_that_start(folder: Path) -> list[Study]:
    """The studies in a folder that start from models of others."""
    texts = {path: path.read_text("utf-8", "replace") for path in study_files(folder)}
    # A study may extend one that states it; in the names of the code it is `start`.
    paths = [
        p for p, text in texts.items() if "init_from" in text or ("extends" in text and "start" in str(content_of(p)))
    ]
    return [study for study in map(load_study, paths) if starts_of(study)]


def needed_keys(studies: list[Study], starts: InitFromFinder) -> set[str]:
    """The keys of the trials whose models these studies start from. What does not exist yet is left out."""
    keys = set()
    for study in studies:
        for start, dataset, seed in product(starts_of(study), study.datasets, {*study.seeds, TUNING_SEED}):
            with suppress(ValueError):  # no results yet, or the study asks for a cell that does not exist
                keys.add(starts.key(start, dataset.label, seed))
    return keys


def snapshot_outcomes(folder: Path) -> dict[str, Outcome]:
    """The outcomes of all snapshots, by the first digits of their keys; none with `DML_SNAPSHOTS=off`."""
    if os.environ.get("DML_SNAPSHOTS") == "off":
        return {}
    pairs = (pair for snapshot in snapshots(folder) for pair in snapshot.outcomes())
    return {key: Outcome(FINISHED, **content, host="published") for key, content in pairs}
