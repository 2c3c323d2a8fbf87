"""`dml ui`: the addresses, and the server behind them."""

import os

import pytest

from dml.tracking import connection


@pytest.fixture
def tracked(monkeypatch):
    """MLflow answers with one study."""
    monkeypatch.setattr(
        connection, "ui_addresses", lambda server, uri: {"quickstart": f"{server}/#/experiments/1/runs"}
    )


def test_the_projects_database_is_served_without_processes_for_jobs(dml, project, programs, tracked, monkeypatch):
    monkeypatch.delenv("MLFLOW_SERVER_ENABLE_JOB_EXECUTION")
    done = dml("ui", "--port", "5001")
    assert "quickstart: http://127.0.0.1:5001/#/experiments/1/runs" in done.out
    (command,) = programs
    assert command[:3] == ("-m", "mlflow", "ui")
    assert command[command.index("--backend-store-uri") + 1] == "sqlite:///mlflow.db"
    assert command[command.index("--port") + 1] == "5001"
    assert os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] == "false"


def test_a_server_that_runs_already_is_named_and_none_is_started(dml, project, programs, monkeypatch, tracked):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking:5000")
    assert "quickstart: http://tracking:5000/#/experiments/1/runs" in dml("ui").out
    assert programs == []
