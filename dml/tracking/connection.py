"""MLflow's backend: its address, its experiment and runs, and what its errors mean."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run

EXPERIMENT = "dml"
LOCAL = "sqlite:///mlflow.db"
PAGE = 1000  # runs per request
CONFLICT = re.compile(r"UniqueViolation|UNIQUE constraint|IntegrityError|Duplicate entry|InterfaceError")
PLACES = {  # columns of MLflow's SQLite with places of artifacts, which are absolute
    "experiments": "artifact_location",
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "model_versions": "storage_location",
}
REJECTED = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST", "RESOURCE_ALREADY_EXISTS", "ENDPOINT_NOT_FOUND")


def default_uri() -> str:
    """MLflow's backend: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.

    A path of one's own would have to be escaped, for what SQLAlchemy's versions read differently: `%` and `?`.
    """
    return os.environ.get("MLFLOW_TRACKING_URI") or LOCAL


def is_missing(uri: str) -> bool:
    """Whether the backend is an SQLite file that does not exist, so that nothing was tracked."""
    if re.match(r"sqlite(\+\w+)?:///", uri) is None:
        return False
    from sqlalchemy import make_url

    file = make_url(uri).database or ""  # without `?timeout=30`
    return file not in ("", ":memory:") and not file.startswith("file:") and not Path(file).is_file()


def client_of(uri: str) -> MlflowClient:
    """A client of a backend, and of the models that are registered there."""
    import mlflow

    return mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)


def follow_move(uri: str) -> None:
    """Tell the database of a project that was moved or copied where its artifacts are now, else they stay behind."""
    if uri != LOCAL or not (Path("mlflow.db").is_file() and Path("mlartifacts").is_dir()):
        return
    here = Path("mlartifacts").resolve().as_uri()
    with contextlib.closing(sqlite3.connect("mlflow.db")) as database, database:
        query = "SELECT artifact_location FROM experiments WHERE name = ? AND artifact_location LIKE '%/mlartifacts'"
        (old,) = database.execute(query, [EXPERIMENT]).fetchone() or (here,)
        for table, column in PLACES.items() if old != here else ():
            within = f"substr({column} || '/', 1, {len(old) + 1}) = ?"
            moved = f"UPDATE {table} SET {column} = ? || substr({column}, {len(old) + 1}) WHERE {within}"
            database.execute(moved, [here, f"{old}/"])


def open_experiment(client: MlflowClient, uri: str) -> Experiment:
    """The experiment, created if missing. SQLite keeps artifacts in the working directory."""
    from mlflow.exceptions import MlflowException

    follow_move(uri)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is None:
        artifacts = Path("mlartifacts").resolve().as_uri() if uri.startswith("sqlite") else None
        try:
            return client.get_experiment(client.create_experiment(EXPERIMENT, artifact_location=artifacts))
        except MlflowException:
            experiment = client.get_experiment_by_name(EXPERIMENT)  # another sweep created it in between
            if experiment is None:
                raise
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return experiment


def runs_of(client: MlflowClient, experiment: str, query: str) -> Iterator[Run]:
    """The runs that a search finds, the first created one first."""
    token = None
    while True:
        page = client.search_runs(
            [experiment], query, max_results=PAGE, order_by=["attributes.start_time ASC"], page_token=token
        )
        yield from page
        token = page.token
        if not token:
            return


def was_rejected(error: Exception) -> bool:
    """Whether MLflow rejects a request for good, which a conflict of two writers that insert the same is not."""
    return getattr(error, "error_code", "") in REJECTED and CONFLICT.search(str(error)) is None


def error_line(uri: str, error: Exception) -> str:
    """A backend's error in one line."""
    return f"MLflow at {uri}: {(str(error).strip().splitlines() or [type(error).__name__])[0][:300]}"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep alembic's and MLflow's log messages out of progress displays."""
    names = ("alembic", "mlflow", "urllib3")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="mlflow")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def model_folder(uri: str, tracking: str | None = None) -> Path:
    """The folder that the model was logged from, downloaded if MLflow's artifacts are on a server."""
    import mlflow

    tracking = os.environ.get("MLFLOW_TRACKING_URI") or tracking
    if tracking:
        follow_move(tracking)
        mlflow.set_tracking_uri(tracking)
    try:
        with quiet():
            folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri))
    except (mlflow.exceptions.MlflowException, OSError) as error:
        first, at = (str(error).splitlines() or [type(error).__name__])[0], mlflow.get_tracking_uri()
        raise ValueError(f"{uri}: MLflow at {at} has no such model, or not its files ({first})") from error
    descriptions = sorted(folder.rglob("model.json"))
    if not descriptions:
        raise ValueError(f"{uri}: not a model that dml logged: expected a file model.json in its artifacts")
    return descriptions[0].parent.resolve()
