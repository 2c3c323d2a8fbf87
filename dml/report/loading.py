"""Read a study's results, here or of its snapshot: as it ran, with today's title, comparisons and report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
from pydantic import ValidationError

from dml.config import Study
from dml.config.loading import ATTRIBUTE, recorded
from dml.counting import counted
from dml.report.labels import Texts
from dml.report.results import FigureData, Results
from dml.snapshots import Snapshot

say = Texts(__file__)


def as_it_ran(today: Study, trials: pd.DataFrame) -> tuple[Study, pd.DataFrame, str]:
    """The study that these trials are of, its trials, and what has changed since, in sentences."""
    text = trials.attrs.get(ATTRIBUTE)
    if text is None:
        return today, trials, ""
    try:
        ran = recorded(text, today)
    except ValueError as error:
        return today, trials, say("unreadable", why=_first(error))
    if ran == today:
        return today, trials, ""
    cells_run, cells_today = ({cell.name for cell in study.cells()} for study in (ran, today))
    if not cells_run & cells_today:
        return today, trials[:0], say("none")
    ran = ran.without(cells_run - cells_today)
    changes = [say("changed")]
    if gone := len(cells_run - cells_today):
        changes.append(say("gone", cells=counted(gone, "cell"), are="is" if gone == 1 else "are"))
    if new := len(cells_today - cells_run):
        changes.append(say("new", cells=counted(new, "cell"), have="has" if new == 1 else "have"))
    return ran, trials[trials["cell"].isin(cells_run & cells_today)], " ".join(changes)


def _first(error: ValueError) -> str:
    """What is wrong, in a line; of several problems the first, with its key."""
    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    problem = error.errors()[0]
    return ": ".join([".".join(map(str, problem["loc"])), problem["msg"].removeprefix("Value error, ")])


COLUMNS = (
    *("key", "study", "cell", "phase", "number", "seed", "status", "error", "dataset", "noise", "rate", "loss"),
    *("positives", "negatives", "settings", "objective", "seconds", "curve", "diagnostics", "started"),
)
NUMBERS = ("number", "seed", "rate", "objective", "seconds")


def load(study: Study, folder: Path, store: Path | None = None, snapshot: Snapshot | None = None) -> Results:
    """Read one study's results. A missing or broken file becomes `Results.problem`, never an error.

    The results say what ran (`as_it_ran`); `study` says what their page is about.
    """
    path = folder / "trials.parquet"
    if snapshot is not None and snapshot.exists:
        summary = snapshot.summary()
        commit = str(summary.get("git_commit", ""))[:12]
        if not path.is_file():
            ran, trials, changed = as_it_ran(study, _complete(snapshot.trials()))
            origin = f"Published results, of commit {commit}. To run the study here: dml run {study.name}"
            origin, figures = ". ".join(filter(None, (origin, changed))), FigureData(snapshot.figures())
            return Results(ran, trials, summary, "", store, origin, figures=figures)
        here = load(study, folder, store)
        return replace(here, origin=f"Run here; it takes the place of the results of {commit}. {here.origin}".rstrip())
    if not path.is_file():
        waiting = f"Not run here yet: dml run {study.name}"
        return Results(study, _complete(pd.DataFrame()), {}, "", store, waiting)
    content, problem = None, ""
    try:
        content = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        problem = f"summary.json cannot be read: {error}"
    summary = content if isinstance(content, dict) else {}
    trials = pd.DataFrame()
    try:
        trials = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        problem = f"trials.parquet cannot be read: {str(error).splitlines()[0]}"
    if not problem and trials.empty:
        problem = f"No trial has finished yet: dml run {study.name}"
    lacking = [column for column in COLUMNS if column not in trials]
    if lacking and not trials.empty:
        problem = f"trials.parquet lacks the columns {', '.join(lacking)}."
    ran, trials, changed = as_it_ran(study, _complete(trials))
    return Results(ran, trials, summary, problem, store, changed)


def _complete(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with all columns that the report reads, and numbers as numbers."""
    lacking = {column: None for column in COLUMNS if column not in trials}
    trials = trials.assign(**lacking, **({} if "split" in trials else {"split": 0}))
    return trials.assign(**{column: pd.to_numeric(trials[column], errors="coerce") for column in NUMBERS})
