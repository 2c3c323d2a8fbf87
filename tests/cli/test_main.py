"""`dml` itself: its help, its exit codes, and how fast it starts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from dml.cli.main import app

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(typer.main.get_command(app).commands)
HEAVY = ("torch", "pandas", "numpy", "ray", "mlflow", "optuna", "pydantic", "dvc", "matplotlib")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(dml, name):
    done = dml(name, "--help")
    assert done.code == 0
    assert re.search(rf"Examples?: dml {name}", done.out)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_documentation(name):
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `dml {name}\b[^`]*` \|", text, flags=re.MULTILINE)


@pytest.mark.parametrize("arguments", [["run"], ["check", "quickstart"], ["status"], ["report"], ["gc"], ["ui"]])
def test_outside_a_project_one_message_says_what_was_expected(dml, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    done = dml(*arguments)
    assert done.code == 1
    assert done.err.startswith(f"error: {tmp_path} is not in a project: expected a folder with dvc.yaml")
    assert "`dml init` writes one into a folder" in done.err
    assert done.err.count("\n") == 1


def test_ctrl_c_has_its_own_exit_code(dml, project, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dml.cli.project.Project.run", interrupted)
    done = dml("report")
    assert done.code == 130
    assert "Interrupted" in done.err


def test_help_starts_without_heavy_imports():
    program = f"import sys, dml.cli.main; print(sorted(set({HEAVY}) & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    before = os.times().children_user
    subprocess.run([sys.executable, "-m", "dml", "--help"], env=environment, capture_output=True, check=True)
    assert os.times().children_user - before < 1.0  # seconds of the processor: 0.2 on two cores
