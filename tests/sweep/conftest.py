"""Studies and folders for the sweep's tests; `toy` and `driver` are helpers beside this file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from forks import Forked  # noqa: E402

from dml.config import Study  # noqa: E402


@pytest.fixture
def toy_study() -> Callable[..., Study]:
    """A study of two losses whose trials are toys; keyword arguments override its sections."""
    from driver import study

    return study


@pytest.fixture
def workplace(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Workplace]:
    """A folder in which sweeps run as processes of their own."""
    place = Workplace(tmp_path, request)
    yield place
    place.end()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep writes the table of its trials at each event."""
    from dml.sweep.progress import results as live

    monkeypatch.setattr(live, "SECONDS", 0.0)
    monkeypatch.setattr(live, "SHARE", 1e9)


class Workplace:
    """Runs `driver.py` in a folder, and can read what it leaves."""

    def __init__(self, folder: Path, request: pytest.FixtureRequest):
        self.folder, self._request = folder, request
        self._processes: list[Forked] = []
        self._beside: list[Workplace] = []
        self.orders()

    def beside(self, name: str) -> Workplace:
        """Another machine: a folder of its own."""
        (self.folder / name).mkdir()
        self._beside.append(Workplace(self.folder / name, self._request))
        return self._beside[-1]

    def orders(self, **orders: Any) -> None:
        """What the toys do from now on."""
        (self.folder / "toy.json").write_text(json.dumps(orders))

    def start(self, environment: dict[str, str] | None = None, own_ray: bool = False, **overrides: Any) -> Forked:
        """Start a sweep in a process group of its own."""
        _, _, database = overrides.get("tracking", "").partition("sqlite:///")
        if database and not Path(database).exists():
            shutil.copy(self._request.getfixturevalue("empty_database"), database)
        overrides["resources"] = {"concurrent": 1, **overrides.get("resources", {})}
        variables = {**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})}
        if own_ray:
            del variables["RAY_AUTH_MODE"]
        else:
            variables.setdefault("RAY_ADDRESS", self._request.getfixturevalue("ray_address"))
        command = [str(HERE / "driver.py"), str(self.folder), json.dumps(overrides)]
        self._processes.append(self._request.getfixturevalue("forks").start(command, self.folder, variables))
        return self._processes[-1]

    def sweep(self, *arguments: Any, **overrides: Any) -> str:
        """Run a sweep to its end as `start` does, and return what it printed."""
        process = self.start(*arguments, **overrides)
        text, _ = process.communicate(timeout=200)
        assert process.returncode == 0, text
        return text

    def log(self) -> list[str]:
        """What the toys wrote: `<pid> <loss>-<phase>-<key> begin|resume N|close`."""
        path = self.folder / "steps.log"
        return path.read_text().splitlines() if path.is_file() else []

    def wait(self, condition: Callable[[], Any], seconds: float = 180.0) -> Any:
        """Wait until something is true, and return it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = condition()
            if found:
                return found
            latest = self._processes[-1:]  # those before it may have been killed by the test itself
            assert not any(process.poll() for process in latest), latest[0].communicate()[0]
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds} s; the toys wrote {self.log()}")

    def results(self) -> set[str]:
        """Keys of the trials that finished."""
        return {path.parent.name for path in self.folder.glob("store/trials/*/result.json")}

    def end(self) -> None:
        """End what is still running, with all its children."""
        for place in self._beside:
            place.end()
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
