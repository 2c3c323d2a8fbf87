"""An MLflow backend for each test: an SQLite file in a folder of its own."""

import shutil
import sys
from pathlib import Path

import mlflow
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `tracked` is a helper beside this file


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """A database with MLflow's tables, created once because that takes seconds."""
    path = tmp_path_factory.mktemp("mlflow") / "empty.db"
    mlflow.MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def uri(tmp_path, monkeypatch, empty_database):
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"
