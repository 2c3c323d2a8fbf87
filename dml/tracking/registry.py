"""Registers models in MLflow's model registry."""

from __future__ import annotations

import mlflow

from dml.tracking.finding import find_study
from dml.tracking.sending import quiet


def register_best(study: str, name: str, uri: str | None = None) -> int:
    """Register the model that a study's run contains: the best one, by validation score.

    Parameters
    ----------
    study : its name.
    name : of the registered model, created if missing. `models:/<name>/<version>` loads it.
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.

    Returns
    -------
    The version. A model that is registered already keeps its version.

    Raises
    ------
    ValueError : the study has no run in MLflow, or its run has no model.
    """
    found = find_study(study, uri)
    with quiet():
        return register(found.uri, found.run.info.run_id, name)


def register(uri: str, run_id: str, name: str) -> int:
    """Register the model of a study's run, as `register_best` does."""
    client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
    tags = client.get_run(run_id).data.tags
    model, study = tags.get("dml.model", ""), tags.get("dml.study", "")
    if not model:
        raise ValueError(
            f"the run of study {study!r} in MLflow has no model: no confirmed trial of it has one here. Published "
            f"results have none; DML_PUBLISHED=off dvc repro --force --single-item sweep@{study} trains them"
        )
    for version in client.search_model_versions(f"name = '{name}'"):
        if version.tags.get("dml.model") == model:
            return int(version.version)
    try:
        client.create_registered_model(name)
    except mlflow.MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    source, own = client.get_logged_model(model.removeprefix("models:/")), {"dml.model": model, "dml.study": study}
    made = client.create_model_version(name, model, run_id=run_id, tags=own, model_id=source.model_id)
    return int(made.version)
