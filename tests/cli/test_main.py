"""`dml` itself: help, exit codes, how fast it starts; and which studies commands find."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from dml.cli.main import app
from dml.cli.project import Project, studies_of

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


def test_help_and_commands_start_without_heavy_imports():
    program = f"import sys, dml.cli.main, dml.cli.audit, dml.cli.run; print(sorted(set({HEAVY}) & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    before = os.times().children_user
    subprocess.run([sys.executable, "-m", "dml", "--help"], env=environment, capture_output=True, check=True)
    assert os.times().children_user - before < 1.0  # seconds of the processor: 0.2 on two cores


def test_a_papers_name_stands_for_its_studies_that_need_no_gpu():
    found = studies_of(Project(ROOT), ["paper-eps", "quickstart", "eps-table1"])
    assert found[-1] == "quickstart"
    assert found.count("eps-table1") == 1
    assert not [name for name in found if name.endswith(("-cub200", "-cars196"))]


def test_a_study_may_be_named_by_its_file(project):
    file = project / "pipelines/studies/tiny.yaml"
    for name in ("tiny", "tiny.yaml", "pipelines/studies/tiny.yaml", str(file)):
        assert studies_of(Project(project), [name, "tiny"]) == ["tiny"]
    with pytest.raises(ValueError, match=r"tinny\.yaml: no such study or group; did you mean 'tiny'"):
        studies_of(Project(project), ["../tinny.yaml"])


def test_all_with_results_or_a_sweep_that_has_begun(dml, project, programs):
    names = sorted(path.stem for path in (project / "pipelines/studies").glob("*.yaml"))
    for folder in (f"results/{names[0]}", "results/gone", "store/sweeps/gone.live"):
        (project / folder).mkdir(parents=True)
        (project / folder / "trials.parquet").touch()
    assert dml("sync").code == 0
    assert [command[-1] for command in programs if command[:3] == ("-m", "dml.pipeline", "sync")] == names[:1]


def test_without_the_extra_the_command_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from dml.__main__ import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the command line needs the package typer, which is not installed here.")
    assert 'pip install "noisy-dml[pipeline]"' in done.stderr
    assert "Traceback" not in done.stderr
