"""Registers models in MLflow's model registry."""

from __future__ import annotations

import mlflow

from dml.tracking.connection import client_of, quiet


def register(uri: str, run_id: str, model: str, study: str, name: str) -> int:
    """Register a study's logged model (`models:/m-...`) under a name. Returns its version, the same one each time."""
    client = client_of(uri)
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


def version_of(name: str, uri: str, alias: str = "champion") -> int:
    """The version of a registered model that has an alias."""
    with quiet():
        return int(client_of(uri).get_model_version_by_alias(name, alias).version)
