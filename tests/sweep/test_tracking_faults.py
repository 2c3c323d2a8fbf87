"""A tracking server that stops and comes back, or is not there: no trial and no metric is lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from checking import check

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Server:
    """A real MLflow server, which can be killed and started again on the same port."""

    def __init__(self, folder):
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self._port}"
        self._process = None

    def start(self):
        command = ["mlflow", "server", "--port", str(self._port), "--workers", "1"]
        store = f"sqlite:///{self._folder / 'server.db'}"
        folder = str(self._folder / "server-artifacts")
        self._process = subprocess.Popen(
            [sys.executable, "-m", *command, "--backend-store-uri", store, "--default-artifact-root", folder],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + 90
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.2)
        raise AssertionError("the MLflow server does not start")

    def kill(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def server(tmp_path):
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
