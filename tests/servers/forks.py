"""Python programs without their imports: a server that has imported `dml` and its libraries forks for each program."""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

LIBRARIES = ("ray.tune", "mlflow.pyfunc", "optuna", "dml.sweep.run", "dml.cli.main")
LIBRARIES += tuple(f"dml.pipeline.{stage}" for stage in ("download", "pack", "features", "audit", "sweep", "report"))


class Forked:
    """A program that runs, with what tests need of `subprocess.Popen`; stderr goes where stdout goes."""

    def __init__(self, pid: int, text: Path, status: int):
        self.pid, self.returncode = pid, None
        self._text, self._status = text, status

    def poll(self, seconds: float | None = 0.0) -> int | None:
        """The exit code (a signal is negative) as soon as the program has ended, or None after some seconds."""
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(os.read(self._status, 20))
            os.close(self._status)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for the end. What was printed, and None."""
        if self.poll(timeout) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0, self._text.read_text())
        return self._text.read_text(), None

    def wait(self) -> None:
        self.poll(None)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Forks:
    """Starts the server when the first program is asked for."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._texts = tempfile.TemporaryDirectory(prefix="dml-forks-")

    def start(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Forked:
        """Start a program in a session of its own."""
        if self._server is None:
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._server = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
            theirs.close()
        handle, name = tempfile.mkstemp(dir=self._texts.name)
        status, theirs_to_write = os.pipe()
        asked = json.dumps([list(arguments), str(folder), dict(environment)]).encode()
        head = len(asked).to_bytes(8, "little")
        socket.send_fds(self._socket, [head], [handle, theirs_to_write])
        self._socket.sendall(asked)
        os.close(handle)
        os.close(theirs_to_write)
        return Forked(int(os.read(status, 20)), Path(name), status)

    def end(self) -> None:
        if self._server is not None:
            self._socket.close()
            self._server.wait()
        self._texts.cleanup()


def serve(connection: socket.socket) -> list[str] | None:
    """Fork for each program that is asked for."""
    while True:
        head, handles, _, _ = socket.recv_fds(connection, 8, 2)
        if not head:
            return None
        arguments, folder, environment = json.loads(connection.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL))
        if os.fork() == 0:
            break
        for handle in handles:
            os.close(handle)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    connection.close()
    text, status = handles
    program = os.fork()
    if program:  # tells how it ends
        os.write(status, f"{program:<20}".encode())
        os.write(status, f"{os.waitstatus_to_exitcode(os.waitpid(program, 0)[1]):<20}".encode())
        os._exit(0)
    os.close(status)
    os.setsid()
    os.dup2(text, 1)
    os.dup2(text, 2)
    os.close(text)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    from ray._raylet import Config

    Config.initialize("")  # or RAY_AUTH_MODE counts no more, and a cluster that asks for a token refuses the program
    return arguments


def run(arguments: list[str]) -> None:
    """Do what `python` does with its arguments."""
    kind, *rest = arguments
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), vars(sys.modules["__main__"]))
    elif kind == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(kind).resolve().parent))
        runpy.run_path(kind, run_name="__main__")


def end(arguments: list[str]) -> NoReturn:
    """Run, and end as Python does, except that it does not take all modules of the server apart, which takes 0.4 s."""
    code: int | str | None = 1
    try:
        run(arguments)
        code = 0
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        code = -signal.SIGINT
    except BaseException:
        traceback.print_exc()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if code == -signal.SIGINT:
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code if isinstance(code, int) else 1 if code else 0)


if __name__ == "__main__":
    from dml.sweep.execution.cluster import QUIET  # before Ray is imported, which reads it

    os.environ.update(QUIET)
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.freeze()  # or each program spends a second on what the server imported when it ends
    sys.path.remove(str(Path(__file__).parent))
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        end(asked)
