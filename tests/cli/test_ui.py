"""`dml ui`: the address, and the server behind it."""


def test_the_projects_database_is_served(dml, project, programs):
    done = dml("ui", "--port", "5001")
    assert "http://127.0.0.1:5001" in done.out
    (command,) = programs
    assert command[:3] == ("-m", "mlflow", "ui")
    assert command[command.index("--backend-store-uri") + 1] == "sqlite:///mlflow.db"
    assert command[command.index("--port") + 1] == "5001"


def test_a_server_that_runs_already_is_named_and_none_is_started(dml, project, programs, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking:5000")
    assert "http://tracking:5000" in dml("ui").out
    assert programs == []
