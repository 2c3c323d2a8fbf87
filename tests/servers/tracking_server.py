"""A real MLflow server, which can be killed and started again on the same port, and a PostgreSQL for it."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from object_storage import free_port

BINARIES = "/usr/lib/postgresql"  # where Debian's packages put initdb and pg_ctl, which are not on the PATH
UNPRIVILEGED = ("postgres", "nobody")  # PostgreSQL refuses to run as root


class Server:
    """MLflow in a folder."""

    def __init__(self, folder: Path, backend: str = ""):
        self._folder, self._backend = folder, backend or f"sqlite:///{folder / 'server.db'}"
        self._port = free_port()
        self.uri = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        until = time.monotonic() + 180
        while time.monotonic() < until:
            if self._process is None or self._process.poll() is not None:
                self._process = self._launch()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.2)
        self.kill()
        raise AssertionError("the MLflow server does not start")

    def _launch(self) -> subprocess.Popen[bytes]:
        command = ["mlflow", "server", "--port", str(self._port), "--workers", "1"]
        folder = str(self._folder / "server-artifacts")
        return subprocess.Popen(
            [sys.executable, "-m", *command, "--backend-store-uri", self._backend, "--default-artifact-root", folder],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self) -> None:
        """End it without a warning."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Database:
    """A PostgreSQL cluster of one database in a folder of its own, on a loopback port."""

    def __init__(self) -> None:
        found = sorted(Path(BINARIES).glob("*/bin/initdb"))
        path = shutil.which("initdb") or (str(found[-1]) if found else None)
        if path is None:
            pytest.skip("no PostgreSQL here: apt-get install postgresql")
        self._binaries, self._port = Path(path).parent, free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="dml-postgres-"))  # not tmp_path: another user must reach it
        self._as: dict[str, str] = {}
        if os.geteuid() == 0:
            users = {user.pw_name for user in pwd.getpwall()}
            self._as = {"user": next(name for name in UNPRIVILEGED if name in users)}
            shutil.chown(self._folder, self._as["user"])
        self._run("initdb", "--auth=trust", "--username=mlflow", "--no-sync", "--encoding=UTF8")
        self.uri = f"postgresql+psycopg2://mlflow@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        self._run("pg_ctl", "start", "--wait", f"--log={self._folder}/log", f"--options={options}")

    def kill(self) -> None:
        """End it as a crash would: the next start recovers from its log."""
        self._run("pg_ctl", "stop", "--mode=immediate")

    def remove(self) -> None:
        """End it, and delete its folder."""
        with suppress(subprocess.CalledProcessError):
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, name: str, *arguments: str) -> None:
        command = [self._binaries / name, f"--pgdata={self._folder}/data", *arguments]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._as)
