"""The runs of one study in MLflow: a parent run for the study, and a child run for each trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import Dataset, DatasetInput, InputTag, RunTag

from dml.tracking.names import parameters

EXPERIMENT = "dml"
DIGEST_LENGTH = 36  # MLflow's limit
PAGE = 1000  # runs per request


@dataclass
class TrialRun:
    """A trial's child run."""

    id: str
    complete: bool = False
    steps: set[int] | None = None  # the curve's steps that MLflow has; None: ask MLflow


class StudyRuns:
    """Finds or creates the runs of one study.

    A child run carries the tags `dml.trial` (the trial's identity in the study) and `dml.key`. It is looked up by them
    before it is created, so a record that is sent twice appears once.

    Parameters
    ----------
    uri : MLflow's backend.
    study : the parent run's name.
    settings : the study's settings, shown as tags of the parent run.
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
        self.parent = ""  # run id
        self._study, self._settings, self._tags, self._datasets = study, settings, tags, datasets
        self._experiment = ""
        self._trials: dict[tuple[str, str], TrialRun] = {}  # (trial, key) -> its run

    def open(self) -> None:
        """Find or create the experiment and the parent run, and list the child runs that exist."""
        self._experiment = self._open_experiment()
        self.parent = self._open_parent()
        self._describe_parent()
        self._trials = self._list_trials()

    def is_complete(self, trial: str, key: str) -> bool:
        """Whether MLflow has the trial's outcome."""
        run = self._trials.get((trial, key))
        return run is not None and run.complete

    def of_trial(self, record: Mapping[str, Any]) -> TrialRun:
        """The run of a record's trial, created if missing."""
        identity = record["trial"], record["key"]
        if identity not in self._trials:
            tags = {
                "mlflow.parentRunId": self.parent,
                "dml.study": self._study,
                "dml.kind": "trial",
                "dml.trial": record["trial"],
                "dml.key": record["key"],
                **self._tags,
                **record["tags"],
            }
            start, name = int(1000 * record["start"]), record["name"]
            run = self.client.create_run(self._experiment, start_time=start, run_name=name, tags=tags)
            self._trials[identity] = TrialRun(run.info.run_id, steps=set())
        return self._trials[identity]

    def _open_experiment(self) -> str:
        experiment = self.client.get_experiment_by_name(EXPERIMENT)
        if experiment is None:
            local = self.uri.startswith("sqlite")
            place = Path("mlartifacts").resolve().as_uri() if local else None
            return self.client.create_experiment(EXPERIMENT, artifact_location=place)
        if experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        return experiment.experiment_id

    def _open_parent(self) -> str:
        named = f"tags.`dml.study` = '{self._study}' and tags.`dml.kind` = 'study'"
        found = self.client.search_runs([self._experiment], named, max_results=1)
        if not found:
            tags = {"dml.study": self._study, "dml.kind": "study", **self._tags}
            return self.client.create_run(self._experiment, run_name=self._study, tags=tags).info.run_id
        parent = found[0].info
        if parent.status != "RUNNING":
            self.client.update_run(parent.run_id, status="RUNNING")
        return parent.run_id

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

    def _list_trials(self) -> dict[tuple[str, str], TrialRun]:
        children, token = f"tags.`mlflow.parentRunId` = '{self.parent}'", None
        found: dict[tuple[str, str], TrialRun] = {}
        while True:
            page = self.client.search_runs([self._experiment], children, max_results=PAGE, page_token=token)
            for run in page:
                identity = run.data.tags.get("dml.trial", ""), run.data.tags.get("dml.key", "")
                found[identity] = TrialRun(run.info.run_id, complete=run.info.status != "RUNNING")
            token = page.token
            if not token:
                return found
