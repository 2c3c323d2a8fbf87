"""A sweep's trials as a table, also while it runs (`store/sweeps/<study>.live/trials.parquet`), and its summary."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd

from dml.config import Study
from dml.config.loading import ATTRIBUTE, record
from dml.config.search import best_point, stops_at_best
from dml.files import replacing
from dml.sweep.plan import cells
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FAILED, FINISHED, Outcome

PACKAGES = ("noisy-dml", "torch", "torchvision", "numpy", "ray", "optuna", "mlflow")


def trials_frame(study: Study, plan: Plan, running: Iterable[tuple[Job, Outcome]] = ()) -> pd.DataFrame:
    """One row per trial that ended, in the order of the study's cells, and one float column per score.

    With the study as it runs (`dml.config.loading`).
    """
    trials = [*plan.ended(), *running]
    rows = [_row(study, job, outcome) for job, outcome in trials]
    scores = pd.DataFrame([dict(_scores(study, job, outcome)) for job, outcome in trials], dtype="float64")
    frame = pd.concat([pd.DataFrame(rows), scores], axis=1)
    frame.attrs[ATTRIBUTE] = record(study)
    return frame


def _row(study: Study, job: Job, outcome: Outcome) -> dict[str, Any]:
    """A trial's row, without its scores."""
    value = cells.value(study, job, outcome)
    return {
        "key": job.key,
        "study": study.name,
        "cell": job.cell.name,
        "phase": job.phase,
        "number": job.number,
        "seed": job.seed,
        **({"split": job.split} if study.splits > 1 else {}),
        "status": outcome.status,
        "error": outcome.error,
        **job.cell.columns,
        "settings": json.dumps(flat_settings(job), sort_keys=True),
        "objective": float("nan") if value is None else float(value),
        "seconds": outcome.seconds,
        "curve": json.dumps(outcome.curve),
        "diagnostics": json.dumps({**outcome.diagnostics, **outcome.counts}),
        "started": outcome.started,
        "host": outcome.host,
    }


def _scores(study: Study, job: Job, outcome: Outcome) -> Mapping[str, float]:
    """A trial's scores: after its last step, or at the best one where that decides and its curve has them all."""
    best = best_point(outcome.curve, cells.objective(study, job)) if stops_at_best(study.search, job.phase) else None
    scores = dict(outcome.curve).get(best[0], {}) if best is not None else {}
    return scores if outcome.scores.keys() <= scores.keys() else outcome.scores


def flat_settings(job: Job) -> dict[str, Any]:
    """A trial's settings of loss, miner and filter, and what varies or is searched, named as in `loss.margin`."""
    rooms = {"loss": job.spec.loss, "miner": job.spec.miner, "filter": job.spec.filter}
    given = {room: part.settings for room, part in rooms.items() if part is not None}
    flat = {f"{room}.{key}": value for room, settings in given.items() for key, value in settings.items()}
    return {**flat, **job.cell.grid_point, **job.settings}


def summarize(study: Study, frame: pd.DataFrame, counts: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What ran, with which code, and each cell's mean objective on the test split.

    `write_results` of `dml.sweep.run` adds `data`, the scores without training, and `model`, the key of the best trial.
    """
    done = frame[(frame["phase"] == "confirm") & (frame["status"] == FINISHED)]
    return {
        "study": study.name,
        "cells": counts["cells"],
        "trials": len(frame),
        **{status: int((frame["status"] == status).sum()) for status in (FINISHED, FAILED)},
        "already_done": counts["reused"],
        "resumed": counts["resumed"],
        "seconds": round(seconds, 1),
        "training_seconds": round(float(frame["seconds"].sum()), 1),
        "score": {cell: float(value) for cell, value in done.groupby("cell", sort=False)["objective"].mean().items()},
        "study_digest": study.digest,
        "git_commit": git_commit(),
        "command": " ".join(sys.argv),
        "versions": versions(PACKAGES),
    }


CODE = (":/dml", ":/pipelines", "pipelines", ":(glob)*.py")
"""Of the repository, and of a project in one of its folders, with a user's own parts."""


@cache
def git_commit() -> str:
    """The commit of the running code, with `-dirty` if code or studies differ from it; empty outside a repository."""
    commit, changed = _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", *CODE)
    return f"{commit}-dirty" if commit and changed else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of those of the packages that are installed."""
    by_name = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            by_name[package] = version(package)
    return by_name


RUNNING = "running"
SECONDS = 15.0  # between two versions
SHARE = 0.02  # of the driver's time that writing may take


class LiveTable:
    """Writes the table, at most every `SECONDS`."""

    def __init__(self, plan: Plan):
        self._plan, self._folder = plan, plan.store.root / "sweeps" / f"{plan.study.name}.live"
        self._running: dict[str, tuple[Job, Outcome]] = {}  # by job id
        self._next = 0.0

    def evaluated(self, job: Job, curve: Sequence[Any], seconds: float) -> None:
        """Note the curve of a running trial so far, `[[step, scores], ...]`, and how long it has run."""
        started = datetime.fromtimestamp(time.time() - seconds, UTC).isoformat(timespec="seconds")
        self._running[job.id] = job, Outcome(RUNNING, {}, list(curve), seconds=seconds, started=started)
        self._write_if_due()

    def ended(self, job: Job) -> None:
        """Note that a trial ended."""
        self._running.pop(job.id, None)
        self._write_if_due()

    def _write_if_due(self) -> None:
        if time.monotonic() >= self._next:
            begun = time.monotonic()
            self.write()
            self._next = time.monotonic() + max(SECONDS, (time.monotonic() - begun) / SHARE)

    def write(self) -> None:
        """Write the table. A full disk is not said here: a sweep can do without."""
        frame = trials_frame(self._plan.study, self._plan, self._running.values())
        with suppress(OSError), replacing(self._folder / "trials.parquet") as temporary:
            frame.to_parquet(temporary, index=False)

    def close(self, finished: bool) -> None:
        """Delete the table if the results are written; otherwise write it once more, without running trials."""
        if finished:
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            self._running.clear()
            self.write()
