"""Calls in Ray's workers: their results, their errors, and a worker that dies."""

import importlib
import os
import signal
import sys
from itertools import chain
from pathlib import Path

import pytest

from dml.config import ResourcesSection
from dml.sweep.execution.cluster import in_workers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def on_this_machine():
    """Ends the Ray that the first call starts."""
    yield
    import ray

    ray.shutdown()


def die(folder: str, number: int) -> None:
    with open(Path(folder) / str(number), "a") as file:
        file.write("begun ")
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def resources(**changes) -> ResourcesSection:
    return ResourcesSection(**{"cpus_per_trial": 0.5, **changes})


def test_a_worker_has_the_niceness_of_the_driver():
    assert list(chain(*in_workers(resources(), os.nice, [(0,)]))) == [os.nice(0)]


def shadowed() -> list[str]:
    """Modules of Python's that came from elsewhere, and what a project's own module says."""
    import calendar
    import statistics

    own = importlib.import_module("own_part")
    return [Path(module.__file__).parent.name for module in (calendar, statistics)] + [own.NAME]


def test_a_projects_modules_are_found_in_workers_and_hide_none_of_pythons(tmp_path, monkeypatch):
    for name in ("calendar", "statistics", "random", "types"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('the wrong module')\n")
    (tmp_path / "own_part.py").write_text("NAME = 'own'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (found,) = chain(*in_workers(resources(), shadowed, [()]))
    assert found == [Path(os.__file__).parent.name] * 2 + ["own"]


def test_a_worker_that_dies_again_and_again_is_an_error_that_says_what_to_do(tmp_path):
    with pytest.raises(RuntimeError, match=r"a worker died: .* resources.concurrent"):
        list(in_workers(resources(concurrent=1), die, [(str(tmp_path), number) for number in range(3)]))
    assert (tmp_path / "0").read_text() == "begun "
    assert (tmp_path / "1").read_text().count("begun") > 1, "Ray repeats a call whose worker died"
    assert not (tmp_path / "2").exists()
