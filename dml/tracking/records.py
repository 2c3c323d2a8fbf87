"""Writes the tracker's records to MLflow, one method for each kind of record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.entities import Metric, Param, RunTag

from dml.tracking.names import metric_name, parameters
from dml.tracking.runs import StudyRuns, TrialRun
from dml.tracking.view import VIEW_TAG, view_state

METRICS_PER_REQUEST = 1000  # MLflow's limit
PARAMS_PER_REQUEST = 100  # MLflow's limit

Record = Mapping[str, Any]


class RecordWriter:
    """Writes records to a study's runs. Writing a record again changes nothing.

    Metrics carry the trial's own times, so a second copy equals the first.
    """

    def __init__(self, runs: StudyRuns):
        self._runs = runs
        self._by_kind: dict[str, Callable[[Record], None]] = {
            "trial": self._write_trial,
            "running": self._write_running,
            "cell": self._write_cell,
            "study": self._write_study,
            "artifact": self._write_artifact,
            "model": self._write_model,
            "end": self._write_end,
        }

    def write(self, record: Record) -> None:
        """Write a record; `record["kind"]` is a key of the table above."""
        self._by_kind[record["kind"]](record)

    def _write_trial(self, record: Record) -> None:
        run = self._runs.of_trial(record)
        if run.complete:
            return
        # A running trial's start is by the driver's clock, an ended one's by its node's, and these may be apart.
        start = run.start
        end = start + int(1000 * (record["end"] - record["start"]))
        last = max((step for step, _ in record["curve"]), default=0)
        metrics = self._new_points(run, record["curve"], lambda step: start + (end - start) * step // max(1, last))
        metrics += [Metric(metric_name(name), value, end, last) for name, value in record["metrics"].items()]
        self._log(run.id, metrics, parameters(record["params"]))
        client = self._runs.client
        client.set_terminated(run.id, status=record["status"], end_time=end)
        if "dml.error" in record["tags"]:  # missing in a run that was created before the trial ended
            client.set_tag(run.id, "dml.error", record["tags"]["dml.error"])
        run.complete, run.steps = True, None

    def _write_running(self, record: Record) -> None:
        run = self._runs.of_trial(record)
        if not run.complete:
            metrics = self._new_points(run, record["curve"], lambda step: int(1000 * record["at"]))
            self._log(run.id, metrics, parameters(record["params"]))
            run.steps = {step for step, _ in record["curve"]}

    def _write_cell(self, record: Record) -> None:
        cell, content = record["cell"], digest(record)
        if self._runs.has_cell(cell, content):
            return
        start, settings = int(1000 * record["start"]), parameters(record["params"])
        run, identity = self._runs.of_cell(cell, start), digest(settings)
        if run.params not in ("", identity):
            run = self._runs.renew_cell(cell, start)
        self._runs.adopt(cell)
        at = int(1000 * record["at"])
        tags = {**record["tags"], "dml.params": identity, "dml.content": content}
        self._log(run.id, _metrics(record["metrics"], at), settings, tags)
        self._runs.client.set_terminated(run.id, status=record["status"], end_time=int(1000 * record["end"]))
        run.content, run.params = content, identity

    def _write_study(self, record: Record) -> None:
        at = int(1000 * record["at"])
        self._log(self._runs.parent, _metrics(record["metrics"], at), {}, record["tags"])
        state = json.dumps(view_state(self._runs.study, record["columns"]))
        self._runs.client.set_experiment_tag(self._runs.experiment, VIEW_TAG + self._runs.study, state)

    def _write_artifact(self, record: Record) -> None:
        path, client, parent = Path(record["path"]), self._runs.client, self._runs.parent
        name = f"dml.artifact.{path.name}"
        try:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            return  # a later run of the study replaced its results; that run records them
        if client.get_run(parent).data.tags.get(name) != content:
            client.log_artifact(parent, str(path), record["folder"] or None)
            if path.suffix == ".parquet":
                client.log_text(parent, _as_csv(path), f"{path.stem}.csv")
            client.set_tag(parent, name, content)

    def _write_model(self, record: Record) -> None:
        from dml.tracking.pyfunc import log_model
        from dml.tracking.registry import register

        client, parent = self._runs.client, self._runs.parent
        tags = client.get_run(parent).data.tags
        uri = tags.get("dml.model", "")
        if not uri or tags.get("dml.model_key") != record["key"]:
            uri = log_model(self._runs.uri, parent, record)
            client.set_tag(parent, "dml.model", uri)
            client.set_tag(parent, "dml.model_key", record["key"])
        if record.get("register"):
            register(self._runs.uri, parent, record["register"])

    def _write_end(self, record: Record) -> None:
        end = int(1000 * record["end"])
        self._runs.client.set_terminated(self._runs.parent, status=record["status"], end_time=end)

    def _new_points(self, run: TrialRun, curve: Sequence[Any], time_of: Callable[[int], int]) -> list[Metric]:
        """The curve's metrics that MLflow does not have yet."""
        if run.steps is None:  # an earlier process created the run and was killed
            names = [metric_name(name) for _, scores in curve[:1] for name in scores][:1]
            points = [point for name in names for point in self._runs.client.get_metric_history(run.id, name)]
            run.steps = {point.step for point in points}
        return [
            Metric(metric_name(name), value, time_of(step), step)
            for step, scores in curve
            if step not in run.steps
            for name, value in scores.items()
        ]

    def _log(
        self, run: str, metrics: Sequence[Metric], settings: Mapping[str, str], tags: Mapping[str, str] | None = None
    ) -> None:
        client = self._runs.client
        first = [Param(name, value) for name, value in settings.items()][:PARAMS_PER_REQUEST]
        marks = [RunTag(name, value) for name, value in (tags or {}).items()]
        for start in range(METRICS_PER_REQUEST, len(metrics), METRICS_PER_REQUEST):
            client.log_batch(run, metrics=metrics[start : start + METRICS_PER_REQUEST])
        client.log_batch(run, metrics=metrics[:METRICS_PER_REQUEST], params=first, tags=marks)


def digest(record: Mapping[str, Any]) -> str:
    """Of a record's content, its time `at` left out."""
    content = {name: value for name, value in record.items() if name != "at"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _metrics(values: Mapping[str, float], at: int) -> list[Metric]:
    return [Metric(metric_name(name), value, at, 0) for name, value in values.items()]


def _as_csv(path: Path) -> str:
    """A table of trials without its long columns, as text that MLflow's UI shows."""
    frame = pd.read_parquet(path)
    return frame.drop(columns=[name for name in ("curve", "diagnostics") if name in frame]).to_csv(index=False)
