"""A tracking server that stops and comes back, or is not there: no trial and no metric is lost."""

from __future__ import annotations

import shutil

import pytest
from checking import check
from tracking_server import Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def server(tmp_path, empty_database):
    shutil.copy(empty_database, tmp_path / "server.db")
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


def test_the_tracking_server_is_away_for_a_while(workplace, server):
    workplace.orders(seconds=0.1)
    process = workplace.start({"DML_TRACKING_PATIENCE": "120"}, tracking=server.uri)
    workplace.wait(lambda: len(workplace.results()) >= 2)
    server.kill()
    workplace.wait(lambda: len(workplace.results()) >= 6)
    server.start()
    text, _ = process.communicate(timeout=200)
    assert process.returncode == 0, text
    check(workplace, server.uri)


def test_the_tracking_server_comes_back_after_the_sweep(workplace, server):
    workplace.orders(seconds=0.1)
    process = workplace.start({"DML_TRACKING_PATIENCE": "1"}, tracking=server.uri)
    workplace.wait(lambda: len(workplace.results()) >= 2)
    server.kill()
    text, _ = process.communicate(timeout=200)
    assert process.returncode == 0, text
    assert f"MLflow at {server.uri} is unreachable" in text
    server.start()
    workplace.sweep(tracking=server.uri)
    check(workplace, server.uri)
    assert not list(workplace.folder.glob("store/sweeps/*.jsonl"))


def test_no_tracking_server_at_the_start(workplace):
    process = workplace.start(tracking="http://127.0.0.1:9")
    text, _ = process.communicate(timeout=100)
    assert process.returncode != 0
    assert "no MLflow tracking server answers at http://127.0.0.1:9" in text
    assert "Traceback" not in text
    assert workplace.log() == []
