"""MLflow on PostgreSQL, with two sweeps that log at once: each run is there once, also if both servers crash."""

import pytest
from stepped import two_at_once
from tracking_server import Database, Server

pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.timeout(400), pytest.mark.usefixtures("at_once")]


@pytest.fixture
def database():
    pytest.importorskip("psycopg2")
    database = Database()
    database.start()
    yield database
    database.remove()


@pytest.fixture
def server(tmp_path, database):
    server = Server(tmp_path, database.uri)
    server.start()
    yield server
    server.kill()


def test_two_sweeps_at_once_and_both_servers_crash(tmp_path, server, database, monkeypatch):
    monkeypatch.setenv("DML_TRACKING_PATIENCE", "120")
    with two_at_once(tmp_path, server.uri) as sweeps:
        for sweep in sweeps:
            sweep.end(2)
        for sweep in sweeps:
            sweep.wait({"FINISHED": 2, "RUNNING": 1})
        database.kill()
        server.kill()
        for sweep in sweeps:
            sweep.end(2)
        database.start()
        server.start()
        for sweep in sweeps:
            sweep.finish()
