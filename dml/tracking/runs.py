"""The runs of one study in MLflow: study > cell > trial, as nested runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import Dataset, DatasetInput, InputTag, Run, RunTag
from mlflow.exceptions import MlflowException

from dml.tracking.names import parameters

EXPERIMENT = "dml"
DIGEST_LENGTH = 36  # MLflow's limit
PAGE = 1000  # runs per request
PARENT = "mlflow.parentRunId"


@dataclass
class TrialRun:
    """A trial's run."""

    id: str
    complete: bool = False
    steps: set[int] | None = None  # the curve's steps that MLflow has; None: ask MLflow
    cell: str = ""
    parent: str = ""  # run id
    start: int = 0  # milliseconds since the epoch, by the clock of the machine that said so first


@dataclass
class CellRun:
    """A cell's run."""

    id: str
    content: str = ""  # digest of the record that MLflow has; empty: only the run exists
    params: str = ""  # digest of its parameters, which MLflow cannot change


class StudyRuns:
    """Finds or creates the runs of one study.

    A trial's run carries the tags `dml.trial` (the trial's identity in the study) and `dml.key`, a cell's run carries
    `dml.cell`. They are looked up by these tags before they are created, so a record that is sent twice appears once.

    Parameters
    ----------
    uri : MLflow's backend.
    study : the name of the study's run.
    settings : the study's settings, shown as tags of its run.
    tags : tags of every run, such as the git commit.
    datasets : name -> digest of each dataset.
    """

    def __init__(
        self,
        uri: str,
        study: str,
        settings: Mapping[str, Any],
        tags: Mapping[str, str],
        datasets: Mapping[str, str],
    ):
        self.uri, self.client = uri, mlflow.MlflowClient(tracking_uri=uri)
        self.experiment = self.parent = ""  # ids
        self.study = study
        self._settings, self._tags, self._datasets = settings, tags, datasets
        self._trials: dict[tuple[str, str], TrialRun] = {}  # (trial, key) -> its run
        self._cells: dict[str, CellRun] = {}  # by the cell's name

    def open(self) -> None:
        """Find or create the experiment and the study's run, and list the runs that exist."""
        self.experiment = open_experiment(self.client, self.uri)
        self.parent = self._open_parent()
        self._describe_parent()
        self._trials, self._cells = {}, {}
        for run in self._list("!= 'study'"):
            self._take(run)

    def is_complete(self, trial: str, key: str) -> bool:
        """Whether MLflow has the trial's outcome."""
        run = self._trials.get((trial, key))
        return run is not None and run.complete

    def has_cell(self, cell: str, content: str) -> bool:
        """Whether MLflow has a cell's record of this digest, and the cell's trials are below it."""
        run = self._cells.get(cell)
        return run is not None and run.content == content and not self._strays(cell, run)

    def of_trial(self, record: Mapping[str, Any]) -> TrialRun:
        """The run of a record's trial, created if missing."""
        identity = record["trial"], record["key"]
        if identity not in self._trials:
            start, cell = int(1000 * record["start"]), record["tags"].get("dml.cell", "")
            parent = self.of_cell(cell, start).id if cell else self.parent
            own = {"dml.trial": record["trial"], "dml.key": record["key"], **record["tags"]}
            run = self._create("trial", parent, record["name"], start, own)
            self._trials[identity] = TrialRun(run, steps=set(), cell=cell, parent=parent, start=start)
        return self._trials[identity]

    def of_cell(self, cell: str, start: int) -> CellRun:
        """The run of a cell, created if missing. `start` in milliseconds since the epoch."""
        if cell not in self._cells:
            self._cells[cell] = CellRun(self._create("cell", self.parent, cell, start, {"dml.cell": cell}))
        return self._cells[cell]

    def renew_cell(self, cell: str, start: int) -> CellRun:
        """A new run of a cell instead of the present one, which is deleted: MLflow cannot change parameters."""
        old = self._cells.pop(cell)
        new = self.of_cell(cell, start)
        self.adopt(cell)
        self.client.delete_run(old.id)
        return new

    def adopt(self, cell: str) -> None:
        """Move the cell's trials that are elsewhere, as those of earlier versions of `dml` are, below its run."""
        run = self._cells[cell]
        for trial in self._strays(cell, run):
            self.client.set_tag(trial.id, PARENT, run.id)
            trial.parent = run.id

    def _strays(self, cell: str, run: CellRun) -> list[TrialRun]:
        return [trial for trial in self._trials.values() if trial.cell == cell and trial.parent != run.id]

    def _create(self, kind: str, parent: str, name: str, start: int, own: Mapping[str, str]) -> str:
        tags = {PARENT: parent, "dml.study": self.study, "dml.kind": kind, **self._tags, **own}
        return self.client.create_run(self.experiment, start_time=start, run_name=name, tags=tags).info.run_id

    def _open_parent(self) -> str:
        found = next(self._list("= 'study'"), None)
        if found is None:
            tags = {"dml.study": self.study, "dml.kind": "study", **self._tags}
            return self.client.create_run(self.experiment, run_name=self.study, tags=tags).info.run_id
        if found.info.status != "RUNNING":
            self.client.update_run(found.info.run_id, status="RUNNING")
        return found.info.run_id

    def _describe_parent(self) -> None:
        tags = {**self._tags, **{f"dml.setting.{k}": v for k, v in parameters(self._settings).items()}}
        self.client.log_batch(self.parent, tags=[RunTag(k, str(v)) for k, v in tags.items()])
        context = [InputTag("mlflow.data.context", "training")]
        inputs = [
            DatasetInput(Dataset(name, digest[:DIGEST_LENGTH], "dml", digest), context)
            for name, digest in self._datasets.items()
        ]
        if inputs:
            self.client.log_inputs(self.parent, inputs)

    def _list(self, kind: str) -> Iterator[Run]:
        """The study's runs whose kind fulfils a condition."""
        wanted, token = f"tags.`dml.study` = '{self.study}' and tags.`dml.kind` {kind}", None
        while True:
            page = self.client.search_runs([self.experiment], wanted, max_results=PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def _take(self, run: Run) -> None:
        """Remember a run that exists."""
        tags, ended = run.data.tags, run.info.status != "RUNNING"
        cell = tags.get("dml.cell", "")
        if tags["dml.kind"] == "cell":
            content = tags.get("dml.content", "") if ended else ""
            self._cells[cell] = CellRun(run.info.run_id, content, tags.get("dml.params", ""))
        elif tags["dml.kind"] == "trial":  # an audit is no part of a sweep
            identity = tags.get("dml.trial", ""), tags.get("dml.key", "")
            self._trials[identity] = TrialRun(
                run.info.run_id, ended, cell=cell, parent=tags.get(PARENT, ""), start=run.info.start_time
            )


def open_experiment(client: mlflow.MlflowClient, uri: str) -> str:
    """The id of the experiment, created if missing."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is None:
        local = uri.startswith("sqlite")
        place = Path("mlartifacts").resolve().as_uri() if local else None
        try:
            return client.create_experiment(EXPERIMENT, artifact_location=place)
        except MlflowException:
            experiment = client.get_experiment_by_name(EXPERIMENT)  # another sweep created it in between
            if experiment is None:
                raise
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return experiment.experiment_id
