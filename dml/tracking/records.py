"""Writes the tracker's records to MLflow, one method for each kind of record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlflow.entities import Metric, Param

from dml.tracking.names import metric_name, parameters
from dml.tracking.runs import StudyRuns, TrialRun

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
            "model": self._write_model,
            "end": self._write_end,
        }

    def write(self, record: Record) -> None:
        """Write a record; `record["kind"]` is `trial`, `running`, `model` or `end`."""
        self._by_kind[record["kind"]](record)

    def _write_trial(self, record: Record) -> None:
        run = self._runs.of_trial(record)
        if run.complete:
            return
        start, end = int(1000 * record["start"]), int(1000 * record["end"])
        last = max((step for step, _ in record["curve"]), default=0)
        metrics = self._new_points(run, record["curve"], lambda step: start + (end - start) * step // max(1, last))
        metrics += [Metric(metric_name(name), value, end, last) for name, value in record["metrics"].items()]
        self._log(run, record, metrics)
        client = self._runs.client
        client.set_terminated(run.id, status=record["status"], end_time=end)
        if "dml.error" in record["tags"]:  # missing in a run that was created before the trial ended
            client.set_tag(run.id, "dml.error", record["tags"]["dml.error"])
        run.complete, run.steps = True, None

    def _write_running(self, record: Record) -> None:
        run = self._runs.of_trial(record)
        if not run.complete:
            metrics = self._new_points(run, record["curve"], lambda step: int(1000 * record["at"]))
            self._log(run, record, metrics)
            run.steps = {step for step, _ in record["curve"]}

    def _write_model(self, record: Record) -> None:
        from dml.tracking.pyfunc import log_model

        client, parent = self._runs.client, self._runs.parent
        if client.get_run(parent).data.tags.get("dml.model_key") == record["key"]:
            return
        log_model(self._runs.uri, parent, record)
        client.set_tag(parent, "dml.model_key", record["key"])

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

    def _log(self, run: TrialRun, record: Record, metrics: Sequence[Metric]) -> None:
        params = [Param(name, value) for name, value in parameters(record["params"]).items()]
        client = self._runs.client
        client.log_batch(run.id, metrics=metrics[:METRICS_PER_REQUEST], params=params[:PARAMS_PER_REQUEST])
        for first in range(METRICS_PER_REQUEST, len(metrics), METRICS_PER_REQUEST):
            client.log_batch(run.id, metrics=metrics[first : first + METRICS_PER_REQUEST])
