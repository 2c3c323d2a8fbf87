"""Sends a sweep's records to the tracker: trials and cells that ended, curves of running trials, and the outcome."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dml.config import Study
from dml.config.tuning import mark
from dml.sweep.cells import Job
from dml.sweep.models import MODEL, best_model, model_folder
from dml.sweep.plan import Plan
from dml.sweep.results import flat_settings, git_commit
from dml.sweep.specs import Describe
from dml.sweep.store import FAILED, FINISHED, PRUNED, Outcome
from dml.sweep.tracked import CellRecords, axes, begun

OFF = "off"
LIVE_SECONDS = 20.0  # before a running trial's curve is sent first, and between two updates
STATUS = {FINISHED: "FINISHED", FAILED: "FAILED", PRUNED: "KILLED"}
LOADER = "dml.training.model_files.TrainedEmbedder"


class NoTracking:
    """Sends nothing."""

    unsent = 0

    def trial(self, plan: Plan, job: Job, outcome: Outcome) -> None: ...

    def running(self, job: Job, curve: Sequence[Any], seconds: float) -> None: ...

    def outcome(self, plan: Plan, summary: Mapping[str, Any], files: Sequence[Path]) -> None: ...

    def best_model(self, plan: Plan) -> None: ...

    def remaining(self, plan: Plan) -> None: ...

    def close(self, state: str) -> None: ...


class TrackingCallback:
    """Turns jobs and outcomes into the tracker's records.

    Parameters
    ----------
    tracker : a `dml.tracking.tracker.Tracker`.
    """

    def __init__(self, tracker: Any):
        self._tracker = tracker
        self._sent: dict[str, float] = {}  # job id -> when its curve was last sent
        self._cells: CellRecords | None = None

    @property
    def unsent(self) -> int:
        """The number of records that are not sent yet."""
        return self._tracker.unsent

    def trial(self, plan: Plan, job: Job, outcome: Outcome) -> None:
        """Record a trial that ended."""
        start, record = begun(outcome), self._describe(job)
        if outcome.error:
            record["tags"]["dml.error"] = outcome.error[-4000:]
        value = plan.value(job, outcome)
        record |= {
            "status": STATUS[outcome.status],
            "curve": outcome.curve,
            "metrics": {**outcome.diagnostics, **({"objective": value} if value is not None else {})},
            "start": start,
            "end": start + outcome.seconds,
        }
        self._tracker.trial(_identity(job), job.key, record)
        for name, cell in self._of(plan).ended(job):
            self._tracker.cell(name, cell)

    def running(self, job: Job, curve: Sequence[Any], seconds: float) -> None:
        """Record a running trial's curve so far, `[[step, scores], ...]`, at most every `LIVE_SECONDS`."""
        if time.monotonic() - self._sent.get(job.id, -math.inf) >= LIVE_SECONDS and seconds >= LIVE_SECONDS:
            self._sent[job.id] = time.monotonic()
            record = {**self._describe(job), "curve": list(curve), "start": time.time() - seconds}
            self._tracker.running(_identity(job), job.key, record)

    def _describe(self, job: Job) -> dict[str, Any]:
        """The part of a trial's record that is known before it runs."""
        spec = job.spec
        params: dict[str, Any] = {
            "cell": job.cell.name,
            "phase": job.phase,
            "number": job.number,
            "seed": job.seed,
            **({"split": job.split} if job.split else {}),
            **axes(job.cell),
            **{f"training.{key}": value for key, value in asdict(spec.training).items()},
            **flat_settings(job),
        }
        tags = {"dml.cell": job.cell_name, "dml.phase": job.phase}
        data = spec.dataset
        tags |= {"dml.digest.packed": data.packed, "dml.digest.split": data.split, "dml.digest.labels": data.labels}
        return {"name": f"{job.cell_name}|{job.phase}-{job.number}", "params": params, "tags": tags}

    def outcome(self, plan: Plan, summary: Mapping[str, Any], files: Sequence[Path]) -> None:
        """Record the remaining cells, the study's winner, and files of its results.

        Parameters
        ----------
        summary : the content of `summary.json`.
        files : become artifacts of the study's run.
        """
        self.remaining(plan)
        self._tracker.study(self._of(plan).study(summary))
        for path in files:
            self._tracker.artifact(path)

    def remaining(self, plan: Plan) -> None:
        """Record the cells that were not recorded yet, as far as they are."""
        for name, record in self._of(plan).remaining():
            self._tracker.cell(name, record)

    def best_model(self, plan: Plan) -> None:
        """Record the model that `keep_models: best` keeps, and register it if the study says so."""
        job = best_model(plan)
        if job is not None:
            plan.store.pull_folder(job.key, MODEL)
            folder = model_folder(plan.store, job.key)
            description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            shape, size = description["image_shape"], description["network"]["embedding_size"]
            self._tracker.model(folder, LOADER, job.key, shape, size, plan.study.resources.register_as)

    def _of(self, plan: Plan) -> CellRecords:
        if self._cells is None:
            self._cells = CellRecords(plan)
        return self._cells

    def close(self, state: str) -> None:
        """End the study's run, send the remaining records, and print how many could not be sent."""
        status = {"finished": "FINISHED", "interrupted": "KILLED"}.get(state, "FAILED")
        left = self._tracker.close(status)
        if left:
            print(f"MLflow at {self._tracker.uri} is unreachable: the next run sends {left} records.", file=sys.stderr)


def _identity(job: Job) -> str:
    """A trial's identity in its study. Adding cells to the study does not change it."""
    return f"{job.cell_name}|{job.phase}|{job.number}"


def open_tracking(study: Study, store: Path, tracking: str | None, describe: Describe) -> TrackingCallback | NoTracking:
    """Connect to the tracking server.

    Raises
    ------
    ConnectionError : the server cannot be reached; the message contains its URI.
    """
    if tracking == OFF:
        return NoTracking()
    from dml.tracking.tracker import Tracker

    digests: Mapping[str, str] = {
        dataset.label: describe(
            dataset.label, study.noise[0].model, study.noise[0].rates[0], study.seeds[0], "confirm"
        ).get("packed", "")
        for dataset in study.datasets
    }
    tags = {"mlflow.source.name": "dml", "mlflow.source.git.commit": git_commit(), "dml.git_commit": git_commit()}
    tags |= {"dml.tuning": mark(study) or "tuned"}
    settings = study.model_dump(mode="json", include={"title", "search", "training", "evaluation", "seeds"})
    spool = store / "sweeps" / f"{study.name}.mlflow.jsonl"
    return TrackingCallback(
        Tracker(study.name, spool, tracking, settings, tags, {k: v for k, v in digests.items() if v})
    )
