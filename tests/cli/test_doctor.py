"""`dml doctor`: what is missing is named with its remedy, and decides the exit code."""

import importlib.metadata

import pytest


@pytest.fixture(autouse=True)
def requirements(monkeypatch):
    """What dml requires, whichever version of it is installed."""
    required = ["numpy>=1", 'ray[tune]>=2; extra == "pipeline"', 'nothing-like-it>=2; extra == "dev"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: required)
    return required


def lines(done):
    return {line.split()[1]: line for line in done.out.splitlines() if line.startswith(("ok", "missing", "absent"))}


def test_a_machine_with_everything(dml, project):
    done = dml("doctor")
    assert done.code == 0
    assert set(lines(done)) == {"packages", "GPU", "project", "disk"}
    assert "numpy " in lines(done)["packages"]
    assert "ray " in lines(done)["packages"]
    assert str(project) in lines(done)["project"]
    assert done.out.endswith("everything that studies need is here\n")


def test_missing_and_old_packages_are_named_with_what_to_run(dml, project, requirements):
    requirements += ["nothing-like-it>=2", "pandas>=99"]
    done = dml("doctor")
    assert done.code == 1
    line = lines(done)["packages"]
    assert line.startswith("missing")
    assert "nothing-like-it (missing, expected >=2)" in line
    assert f"pandas ({importlib.metadata.version('pandas')}, expected >=99)" in line
    assert "numpy" not in line
    assert '-> pip install --upgrade "noisy-dml[pipeline]"' in done.out
    assert done.out.endswith("1 missing\n")
