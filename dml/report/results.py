"""A study's results as the report reads them: every trial, its readable method, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from dml.config import Study
from dml.report.published import metric_label
from dml.types import Cell

COLUMNS = (
    *("key", "study", "cell", "phase", "number", "seed", "status", "error", "dataset", "noise", "rate", "loss"),
    *("positives", "negatives", "settings", "objective", "seconds", "curve", "diagnostics", "started"),
)
NUMBERS = ("number", "seed", "rate", "objective", "seconds")
SETS = {
    "test": "test classes",
    "seen": "training classes, held-out images",
    "validation": "validation classes",
}


@dataclass(frozen=True)
class Method:
    """What is compared: a loss with its fixed settings, and how its tuples are chosen."""

    loss: str
    positives: str  # "" where the loss, or a foreign miner, chooses
    negatives: str

    @property
    def label(self) -> str:
        """`triplet, easy + semihard random`."""
        tuples = " + ".join(filter(None, (self.positives, self.negatives)))
        return readable(f"{self.loss}, {tuples}")


@dataclass(frozen=True)
class Results:
    """One study, its trials (`COLUMNS` and one float column per score key) and its summary."""

    study: Study
    trials: pd.DataFrame
    summary: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""  # why there is nothing, or not everything, to show

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """The study's cells by name, in its order."""
        return {cell.name: cell for cell in self.study.cells()}

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The method of each cell, by the cell's name; a loss's settings are told only where they tell two apart."""
        found = {name: method_of(cell) for name, cell in self.cells.items()}
        variants: dict[str, set[str]] = {}
        for method in found.values():
            variants.setdefault(method.loss.split("(")[0], set()).add(method.loss)
        return {
            name: replace(method, loss=bare) if len(variants[bare := method.loss.split("(")[0]]) == 1 else method
            for name, method in found.items()
        }

    @cached_property
    def confirmed(self) -> pd.DataFrame:
        """Finished trials of the confirm phase: one per cell and seed, in the order of cells, then seeds."""
        rows = self.trials[(self.trials["phase"] == "confirm") & (self.trials["status"] == "finished")]
        order = {name: i for i, name in enumerate(self.cells)}
        rows = rows.assign(_order=rows["cell"].map(order)).dropna(subset="_order")
        rows = rows.sort_values(["_order", "seed", "key"], kind="stable").drop(columns="_order")
        return rows.drop_duplicates(["cell", "seed"], keep="last")

    @cached_property
    def tuned(self) -> pd.DataFrame:
        """All trials of the tune phase, in the order of cells, then numbers."""
        rows = self.trials[self.trials["phase"] == "tune"]
        order = {name: i for i, name in enumerate(self.cells)}
        rows = rows.assign(_order=rows["cell"].map(order)).dropna(subset="_order")
        return rows.sort_values(["_order", "number", "key"], kind="stable").drop(columns="_order")

    @cached_property
    def score_keys(self) -> list[str]:
        """Score keys `<set>/<level>/<metric>` that a confirmed trial has, in the study's order of sets and metrics."""
        sets, metrics = [*self.study.evaluation.sets, *SETS], list(self.study.evaluation.metrics)
        there = [key for key in self.confirmed.columns if is_score(key) and self.confirmed[key].notna().any()]

        def place(key: str) -> tuple[int, str, int, str]:
            part, level, metric = key.split("/", 2)
            return (_index(sets, part), "" if level == "fine" else level, _index(metrics, metric), metric)

        return sorted(there, key=place)

    def objective(self, dataset: str, part: str = "") -> str:
        """The score key that the study is about, on the first set that it evaluates: `test/fine/recall@1`."""
        level = self.study.search.level or self.study.dataset(dataset).evaluate_on[0]
        return f"{part or self.study.evaluation.sets[0]}/{level}/{self.study.search.objective}"

    def values(self, cell: str, key: str) -> pd.Series:
        """A cell's confirmed scores in percent, indexed by seed."""
        rows = self._by_cell.get(cell)
        if rows is None or key not in rows:
            return pd.Series(dtype=float)
        return rows[key].dropna().astype(float) * 100

    @cached_property
    def _by_cell(self) -> dict[str, pd.DataFrame]:
        return {str(name): rows.set_index("seed") for name, rows in self.confirmed.groupby("cell")}

    def missing(self) -> dict[str, int]:
        """How many of a cell's confirm seeds have not finished, for the cells where some have not."""
        done = self.confirmed.groupby("cell").size()
        lacking = {name: len(self.study.seeds) - int(done.get(name, 0)) for name in self.cells}
        return {name: count for name, count in lacking.items() if count > 0}


def load(study: Study, folder: Path) -> Results:
    """Read `trials.parquet` and `summary.json` of one study; what cannot be read becomes `problem`, never an error."""
    summary: dict[str, Any] = {}
    problem = ""
    try:
        content = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        summary = content if isinstance(content, dict) else {}
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        problem = f"summary.json cannot be read: {error}"
    path = folder / "trials.parquet"
    trials = pd.DataFrame()
    if not path.is_file():
        problem = "No trial has run yet: this study has no trials.parquet."
    else:
        try:
            trials = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            problem = f"trials.parquet cannot be read: {str(error).splitlines()[0]}"
    if not problem and trials.empty:
        problem = "No trial has run yet: trials.parquet has no rows."
    lacking = [column for column in COLUMNS if column not in trials]
    if lacking and not trials.empty:
        problem = f"trials.parquet lacks the columns {', '.join(lacking)}."
    for column in lacking:
        trials[column] = pd.Series([None] * len(trials), dtype=object)
    for column in NUMBERS:
        trials[column] = pd.to_numeric(trials[column], errors="coerce")
    return Results(study, trials, summary, problem)


def method_of(cell: Cell) -> Method:
    """The method of a cell."""
    _, _, loss, tuples = cell.name.split("|")
    if cell.positives is None or cell.negatives is None:
        return Method(loss, "", tuples)
    return Method(loss, cell.positives, cell.negatives)


def is_score(column: str) -> bool:
    """Whether a column of trials.parquet holds a score."""
    return column.count("/") >= 2


def score_label(key: str, with_level: bool = True) -> str:
    """`test/fine/recall@1` -> `R@1, test classes, fine labels`."""
    part, level, metric = key.split("/", 2)
    place = SETS.get(part, part)
    return f"{metric_label(metric)}, {place}" + (f", {level} labels" if with_level else "")


def group_label(key: str) -> str:
    """`test/fine/recall@1` -> `Test classes, fine labels`."""
    part, level, _ = key.split("/", 2)
    text = f"{SETS.get(part, part)}, {level} labels"
    return text[:1].upper() + text[1:]


def readable(name: str) -> str:
    """A part's name for a reader: `semihard_random` -> `semihard random`."""
    return name.replace("_", " ").replace("all-pairs", "all pairs")


def parsed(value: Any) -> Any:
    """A JSON column's value; None where it is empty or broken."""
    if not isinstance(value, str) or not value:
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None


def _index(values: list[str], value: str) -> int:
    return values.index(value) if value in values else len(values)
