"""`dml run` and the commands that are scripts of the pipeline."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pandas as pd
import pytest
import typer
import yaml

from dml.cli.project import Project
from dml.files import locked


def test_run_shows_the_cost_and_runs_the_chosen_studies(dml, project, programs):
    text = (project / "pipelines/studies/tiny.yaml").read_text()
    (project / "pipelines/studies/other.yaml").write_text(text)
    (project / "dvc.lock").touch()
    done = dml("run", "other")
    assert done.code == 0
    assert yaml.safe_load((project / "params.yaml").read_text()) == {"studies": ["other"]}
    assert done.out.startswith("other: 2 cells, 4 trials (0 to tune, 4 to confirm)")
    assert programs == [("-m", "dml.pipeline.repro")]
    assert not (project / "dvc.lock").exists()
    (project / "dvc.lock").write_text("schema: '2.0'\n")
    assert dml("run", "other").code == 0
    assert (project / "dvc.lock").read_text() == "schema: '2.0'\n"
    assert f"file://{project}/report/index.html" in done.out


@pytest.mark.parametrize(
    ("ended", "code", "said"),
    [
        ({"triplet": ["finished", "finished"]}, 0, ""),
        ({"triplet": ["finished", "failed"]}, 0, "tiny: 1 of 2 trials failed, such as one of triplet: ValueError: no"),
        ({"triplet": ["failed", "failed"]}, 1, "error: tiny: no trained trial finished: 2 of 2 trials failed, such as"),
        ({"whitening": ["finished"]}, 0, ""),
        ({"whitening": ["finished", "failed"]}, 0, "tiny: 1 of 2 trials failed, such as one of whitening: ValueError"),
        ({"whitening": ["failed"]}, 1, "error: tiny: no trial finished: 1 of 1 trial failed, such as one of whitening"),
    ],
)
def test_failed_trials_are_said_and_nothing_else_is_no_success(dml, project, programs, ended, code, said):
    rows = [(loss, status) for loss, found in ended.items() for status in found]
    table = pd.DataFrame(rows, columns=["loss", "status"])
    table["error"] = ["Traceback ...\nValueError: no\n" if status == "failed" else "" for status in table["status"]]
    (project / "results/tiny").mkdir(parents=True)
    table.to_parquet(project / "results/tiny/trials.parquet")
    done = dml("run", "tiny")
    assert done.code == code
    assert said in done.err
    assert bool(done.err) == bool(said)
    assert "index.html" in done.out


@pytest.mark.parametrize(
    ("command", "study", "then"),
    [("run", "other", ["other"]), ("audit", "other", ["tiny", "other"]), ("audit", "tiny", ["tiny"])],
)
def test_a_second_run_waits_for_the_first_and_names_its_study(dml, project, monkeypatch, command, study, then):
    (project / "pipelines/studies/other.yaml").write_text((project / "pipelines/studies/tiny.yaml").read_text())
    first, chosen = ExitStack(), []

    def run(project, *command, check=True):
        chosen.append(project.chosen())
        raise typer.Exit(1)

    def end(seconds):
        chosen.append(yaml.safe_load((project / "params.yaml").read_text())["studies"])
        first.close()

    with ThreadPoolExecutor(1) as other:  # a thread that holds a lock does not wait for it
        other.submit(first.enter_context, locked(project / "store/run.lock")).result()
    monkeypatch.setattr("time.sleep", end)
    monkeypatch.setattr("dml.cli.run.print_costs", lambda *_: None)
    monkeypatch.setattr("dml.cli.project.Project.run", run)
    done = dml(command, study)
    assert "Waiting for the `dml run` of tiny in this project" in done.out
    assert chosen == [["tiny"], then]
    with locked(project / "store/run.lock", wait=False):  # also after a run that failed
        pass


STAGE = """
import os, signal, time
try:
    os.kill({run}, signal.SIGTERM)
    time.sleep(60)
except KeyboardInterrupt:
    open("ended", "w").close()
"""
PIPELINE = """
import signal, subprocess, sys
stage = subprocess.Popen([sys.executable, "-c", {stage!r}])
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as DVC does while a stage runs
sys.exit(stage.wait() + 1)
"""


@pytest.mark.parametrize("sigint", [signal.default_int_handler, signal.SIG_IGN], ids=["terminal", "in a script"])
def test_a_termination_interrupts_the_stage_that_runs(dml, project, monkeypatch, request, sigint):
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, sigint)))
    program = PIPELINE.format(stage=STAGE.format(run=os.getpid()))
    start = Project.run
    monkeypatch.setattr("dml.cli.run.print_costs", lambda *_: None)
    monkeypatch.setattr("dml.cli.project.Project.run", lambda self, *command: start(self, "-c", program))
    done = dml("run")
    assert (project / "ended").is_file()
    assert done.code == 130
    assert done.err == "\nInterrupted. Finished work is saved: `dml run` resumes.\n"


@pytest.mark.parametrize("name", ["tiny too", "it's", "-tiny", "a;b", "tiny.lock", "_index", "x" * 101])
def test_a_name_that_no_stage_could_be_given_is_refused(dml, project, programs, name):
    """Its shell would divide it, or another study, a page, or a long name has its files."""
    file = project / "pipelines/studies" / f"{name}.yaml"
    file.write_text((project / "pipelines/studies/tiny.yaml").read_text())
    done = dml("run", "--", name)
    assert (done.code, programs) == (1, [])
    assert f"{file.name}: a study is called as its file: expected letters, digits and the signs . _ -" in done.err
