"""Fetches a model that a run logged, or that was registered, from MLflow."""

from __future__ import annotations

import os
from pathlib import Path

SCHEMES = ("models:/", "runs:/")


def is_model_uri(text: str) -> bool:
    """Whether a text is the URI of a model in MLflow: `models:/name/1`, `models:/m-<id>` or `runs:/<id>/best`."""
    return text.startswith(SCHEMES)


def model_folder(uri: str, tracking: str | None = None) -> Path:
    """The folder that the model was logged from, downloaded if MLflow's artifacts are on a server.

    Parameters
    ----------
    uri : of a model.
    tracking : MLflow's backend; None: `MLFLOW_TRACKING_URI`.

    Raises
    ------
    ValueError : MLflow has no such model, or it is not one of dml.
    """
    import mlflow

    from dml.tracking.connection import quiet

    tracking = os.environ.get("MLFLOW_TRACKING_URI") or tracking
    if tracking:
        mlflow.set_tracking_uri(tracking)
    try:
        with quiet():
            folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri))
    except (mlflow.exceptions.MlflowException, OSError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{uri}: MLflow at {mlflow.get_tracking_uri()} has no such model ({first})") from error
    found = sorted(folder.rglob("model.json"))
    if not found:
        raise ValueError(f"{uri}: not a model that dml logged: expected a file model.json in its artifacts")
    return found[0].parent.resolve()
