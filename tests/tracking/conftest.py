"""An MLflow backend for each test: an SQLite file in a folder of its own."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `tracked` is a helper beside this file


@pytest.fixture
def uri(tmp_path, monkeypatch, empty_database):
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"
