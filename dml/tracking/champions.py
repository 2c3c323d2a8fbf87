"""Champions in MLflow: a run with the model, registered under a name with the alias `champion`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dml.tracking.names import metric_name, parameters
from dml.tracking.tracker import ENVIRONMENT, TrackingError

ALIAS = "champion"
KIND = "champion"
PARAMS_PER_REQUEST = 100  # MLflow's limit


class Champions:
    """Logs and registers champions.

    Parameters
    ----------
    uri : MLflow's backend. Without an experiment there yet, SQLite keeps artifacts in the working directory.

    Raises
    ------
    TrackingError : the server cannot be reached.
    """

    def __init__(self, uri: str):
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        import mlflow  # takes seconds, and reads the variables above

        from dml.tracking.runs import open_experiment
        from dml.tracking.sending import quiet, was_rejected

        self.uri, self._quiet = uri, quiet
        try:
            with quiet():
                self._client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
                self._experiment = open_experiment(self._client, uri)
        except Exception as error:
            if was_rejected(error):
                raise
            first = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
            raise TrackingError(f"no MLflow tracking server answers at {uri} (MLFLOW_TRACKING_URI): {first}") from error

    def log(
        self,
        name: str,
        study: str,
        identity: str,
        record: Mapping[str, Any],
        settings: Mapping[str, Any],
        scores: Mapping[str, float],
        tags: Mapping[str, str],
    ) -> int:
        """Log a champion's model in a run of its own below the study's, register it, and give it the alias.

        Parameters
        ----------
        name : of the registered model.
        identity : of the model's files. One that was logged before keeps its run and version, and gets the alias again.
        record : `folder`, `loader`, `image_shape` and `embedding_size`, as `Tracker.model` takes them, and `card`, the
            name of the card in the folder.
        settings : become parameters.
        scores : become metrics.
        tags : of the run.

        Returns
        -------
        The version: `models:/<name>/<version>`, and `models:/<name>@champion`.
        """
        from dml.tracking.registry import register

        with self._quiet():
            run = self._find(study, identity) or self._write(name, study, identity, record, settings, scores, tags)
            version = register(self.uri, run, name)
            self._client.set_registered_model_alias(name, ALIAS, str(version))
        return version

    def _find(self, study: str, identity: str) -> str | None:
        """The run with a champion's model."""
        wanted = f"tags.`dml.kind` = '{KIND}' AND tags.`dml.study` = '{study}' AND tags.`dml.identity` = '{identity}'"
        for run in self._client.search_runs([self._experiment], wanted):
            if run.data.tags.get("dml.model"):
                return run.info.run_id
        return None

    def _write(
        self,
        name: str,
        study: str,
        identity: str,
        record: Mapping[str, Any],
        settings: Mapping[str, Any],
        scores: Mapping[str, float],
        tags: Mapping[str, str],
    ) -> str:
        from mlflow.entities import Metric, Param, RunTag
        from mlflow.utils.time import get_current_time_millis

        from dml.tracking.pyfunc import log_model
        from dml.tracking.runs import PARENT

        parents = self._client.search_runs(
            [self._experiment], f"tags.`dml.kind` = 'study' AND tags.`dml.study` = '{study}'", max_results=1
        )
        own = {"dml.kind": KIND, "dml.study": study, "dml.identity": identity, **tags}
        own |= {PARENT: parents[0].info.run_id} if parents else {}
        run = self._client.create_run(self._experiment, run_name=f"{name}, champion", tags=own).info.run_id
        try:
            now = get_current_time_millis()
            metrics = [Metric(metric_name(key), value, now, 0) for key, value in scores.items()]
            params = [Param(key, value) for key, value in parameters(settings).items()][:PARAMS_PER_REQUEST]
            self._client.log_batch(run, metrics=metrics, params=params)
            self._client.log_artifact(run, str(Path(record["folder"]) / record["card"]))
            model = log_model(self.uri, run, record, name=KIND)  # ends the run
            self._client.log_batch(run, tags=[RunTag("dml.model", model)])
        except BaseException:
            self._client.set_terminated(run, status="FAILED")
            raise
        return run
