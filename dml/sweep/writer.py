"""What the sweep tells the tracker: each trial that ended, and the best model."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from dml.config import Study
from dml.sweep.plan import Job, Plan
from dml.sweep.results import flat_settings, git_commit
from dml.sweep.specs import Describe
from dml.sweep.store import FAILED, FINISHED, PRUNED, Outcome

OFF = "off"
LIVE_SECONDS = 20.0  # how long a trial runs before its curve is sent while it does, and between two times
STATUS = {FINISHED: "FINISHED", FAILED: "FAILED", PRUNED: "KILLED"}
LOADER = "dml.training.embedder.TrainedEmbedder"


class NoWriter:
    """A sweep that is not tracked."""

    unsent = 0

    def trial(self, plan: Plan, job: Job, outcome: Outcome) -> None: ...

    def running(self, job: Job, curve: Sequence[Any], seconds: float) -> None: ...

    def best_model(self, plan: Plan) -> None: ...

    def close(self, state: str) -> None: ...


class Writer:
    """Turns jobs and outcomes into the tracker's records."""

    def __init__(self, tracker: Any):
        self._tracker = tracker
        self._told: dict[str, float] = {}  # job id -> when its curve was last sent

    @property
    def unsent(self) -> int:
        """Records that wait for the server."""
        return self._tracker.unsent

    def trial(self, plan: Plan, job: Job, outcome: Outcome) -> None:
        """A trial ended."""
        start = datetime.fromisoformat(outcome.started).timestamp() if outcome.started else 0.0
        record = self._describe(job)
        if outcome.error:
            record["tags"]["dml.error"] = outcome.error[-4000:]
        value = outcome.scores.get(plan.objective(job))
        record |= {
            "status": STATUS[outcome.status],
            "curve": outcome.curve,
            "metrics": {**outcome.diagnostics, **({"objective": value} if value is not None else {})},
            "start": start,
            "end": start + outcome.seconds,
        }
        self._tracker.trial(_identity(job), job.key, record)

    def running(self, job: Job, curve: Sequence[Any], seconds: float) -> None:
        """A trial has run for `seconds`, and this is its curve so far, `[[step, scores], ...]`."""
        if time.monotonic() - self._told.get(job.id, -math.inf) >= LIVE_SECONDS and seconds >= LIVE_SECONDS:
            self._told[job.id] = time.monotonic()
            record = {**self._describe(job), "curve": list(curve), "start": time.time() - seconds}
            self._tracker.running(_identity(job), job.key, record)

    def _describe(self, job: Job) -> dict[str, Any]:
        """What is known of a trial before it runs."""
        spec = job.spec
        params: dict[str, Any] = {
            "cell": job.cell.name,
            "phase": job.phase,
            "number": job.number,
            "seed": job.seed,
            "dataset": job.cell.dataset,
            "noise": job.cell.noise,
            "rate": job.cell.rate,
            "loss": job.cell.loss.name,
            "positives": job.cell.positives,
            "negatives": job.cell.negatives,
            "miner": job.cell.miner.name if job.cell.miner else None,
            **{f"training.{key}": value for key, value in spec.training.items()},
            **flat_settings(job),
        }
        tags = {"dml.cell": job.cell.name, "dml.phase": job.phase}
        tags |= {f"dml.digest.{k}": str(spec.dataset[k]) for k in ("packed", "split", "labels") if k in spec.dataset}
        return {"name": f"{job.cell.name}|{job.phase}-{job.number}", "params": params, "tags": tags}

    def best_model(self, plan: Plan) -> None:
        """Log the model of the cell that leads on validation classes, never on test classes; its first seed's.

        A study that tunes nothing has no validation score: its first cell's model is logged.
        """
        leaders = {}
        for index in range(len(plan.cells)):
            best = plan.best(index)
            if best is not None:
                leaders[index] = best[1].scores[plan.objective(best[0])]
        order = sorted(leaders, key=lambda i: -leaders[i]) or list(range(len(plan.cells)))
        for index in order:
            for job, outcome in plan.cells[index].confirmed.values():
                folder = plan.store.folder(job.key) / "model"
                if outcome.status == FINISHED and (folder / "model.json").is_file():
                    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
                    shape, size = description["image_shape"], description["network"]["embedding_size"]
                    self._tracker.model(folder, LOADER, job.key, shape, size)
                    return

    def close(self, state: str) -> None:
        """Send what waits."""
        status = {"finished": "FINISHED", "interrupted": "KILLED"}.get(state, "FAILED")
        left = self._tracker.close(status)
        if left:
            print(f"MLflow at {self._tracker.uri} is away: {left} records wait for the next run.", file=sys.stderr)


def _identity(job: Job) -> str:
    """A trial's name in its study, which cells added later do not change."""
    return f"{job.cell.name}|{job.phase}|{job.number}"


def open_writer(study: Study, store: Path, tracking: str | None, describe: Describe) -> Writer | NoWriter:
    """Reach the tracking server, or raise a ConnectionError that names it."""
    if tracking == OFF:
        return NoWriter()
    from dml.tracking.tracker import Tracker

    digests: Mapping[str, str] = {
        dataset.label: describe(
            dataset.label, study.noise[0].model, study.noise[0].rates[0], study.seeds[0], "confirm"
        ).get("packed", "")
        for dataset in study.datasets
    }
    tags = {"mlflow.source.name": "dml", "mlflow.source.git.commit": git_commit(), "dml.git_commit": git_commit()}
    settings = study.model_dump(mode="json", include={"title", "search", "training", "evaluation", "seeds"})
    spool = store / "sweeps" / f"{study.name}.mlflow.jsonl"
    return Writer(Tracker(study.name, spool, tracking, settings, tags, {k: v for k, v in digests.items() if v}))
