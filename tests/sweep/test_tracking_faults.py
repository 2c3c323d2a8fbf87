"""A tracking server that stops and comes back, hangs, or is not there: no trial waits for it, and MLflow catches up."""

import shutil
import socket
import time

import pytest
from stepped import Sweep
from tracking_server import Server

from dml.pipeline.sync import sync_study
from dml.pipeline.syncing import syncing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.usefixtures("at_once")]


@pytest.fixture
def server(tmp_path, empty_database):
    shutil.copy(empty_database, tmp_path / "server.db")
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


def test_the_server_is_away_for_a_while(tmp_path, server, capfd):
    sweep = Sweep(tmp_path / "a", server.uri)
    with syncing(sweep.place, 0.2):
        sweep.end(2)
        sweep.wait({"FINISHED": 2, "RUNNING": 1})
        server.kill()
        sweep.end(2)
        time.sleep(3)
        server.start()
        sweep.wait({"FINISHED": 4, "RUNNING": 1})
        sweep.finish()
    sweep.check()
    assert "dml sync" not in capfd.readouterr().err, "it caught up"


def test_the_server_comes_back_after_the_sweep(tmp_path, server, monkeypatch, capfd):
    monkeypatch.setenv("DML_TRACKING_PATIENCE", "1")
    sweep = Sweep(tmp_path / "a", server.uri)
    with syncing(sweep.place, 0.2):
        sweep.end(2)
        sweep.wait({"FINISHED": 2, "RUNNING": 1})
        server.kill()
        sweep.finish()
    assert "`dml sync toys` brings it up to date" in capfd.readouterr().err
    server.start()
    assert sync_study(sweep.place, sweep.study) == ""
    sweep.check()


def test_a_server_that_does_not_answer_is_named_and_delays_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("DML_TRACKING_PATIENCE", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "3")
    said = ""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(100)
        sweep = Sweep(tmp_path / "a", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with syncing(sweep.place, 0.2):
            began = time.monotonic()
            sweep.end(1)
            assert time.monotonic() - began < 2, "it does not wait"
            until = time.monotonic() + 120
            while "The sweep goes on" not in said and time.monotonic() < until:
                said += capfd.readouterr().err
                time.sleep(0.2)
            sweep.finish()
    said += capfd.readouterr().err
    assert f"MLflow at {sweep.place.uri}: " in said
    assert "The sweep goes on" in said
    assert "`dml sync toys` brings it up to date" in said
    assert "Traceback" not in said
