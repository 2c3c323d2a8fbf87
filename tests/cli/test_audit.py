"""`dml audit`: what it starts, what it takes in, and what it writes for studies."""

import json

import pytest

from dml.config import load_study
from dml.files import write_json
from dml.own_files import replaced

SUMMARY = {
    "dataset": "digits",
    "labels": "coarse labels as given",
    "images": 9,
    "classes": 2,
    "suspects": 1,
    "contradicting_duplicates": 0,
    "beyond_judgement": {},
    "representation": "pixels",
    "rate": {"guess": 0.1},
    "review": None,
    "measured": None,
    "note": "",
    "looks": 9,
}


@pytest.fixture
def stage(monkeypatch, project):
    """The stage in place of DVC: it writes a summary and label files. The commands, in order."""
    started = []

    def run(self, *command, check=True):
        started.append(command)
        study = command[-1].partition("@")[2]
        with replaced(project / "audit" / study) as fresh:
            write_json(fresh / "summary.json", {**SUMMARY, "study": study})
            (fresh / "labels").mkdir()
            (fresh / "labels/left-out.csv").write_text("index,label\n0,-1\n")
        return 0

    monkeypatch.setattr("dml.cli.project.Project.run", run)
    return started


def test_an_audit_runs_the_stage_and_writes_a_study_of_its_labels(dml, project, stage, monkeypatch):
    done = dml("audit", "tiny", "--review-size", 20)
    assert done.code == 0, done.err
    assert stage == [("-m", "dml.pipeline.repro", "audit@tiny")]
    assert "about 10.0% of the labels are wrong: a guess" in done.out
    assert f"file://{project}/audit/tiny/index.html" in done.out
    assert json.loads((project / "pipelines/audits/tiny/request.json").read_text()) == {"looks": 20}
    assert (project / "pipelines/labels/tiny/left-out.csv").is_file()
    study = load_study(project / "pipelines/studies/tiny-audited.yaml")
    assert {cell.noise for cell in study.cells()} == {"uniform", "label_file:left-out"}
    assert "dml run tiny-audited" in done.out
    monkeypatch.setitem(SUMMARY, "suspects", 0)
    assert "dml run tiny-audited" not in dml("audit", "tiny").out, "there is nothing to compare"


def test_a_review_beside_another_size_is_refused_before_it_is_kept(dml, project, stage):
    assert dml("audit", "tiny").code == 0
    (project / "audit/tiny/plan.json").touch()
    assert dml("audit", "tiny", "--review", "review.csv", "--review-size", 30).code == 1
    assert json.loads((project / "pipelines/audits/tiny/request.json").read_text()) == {}


def test_a_study_of_that_name_that_somebody_wrote_stays(dml, project, stage):
    own = project / "pipelines/studies/tiny-audited.yaml"
    own.write_text("extends: tiny\ntitle: mine\n")
    assert "your own file, left as it is" in dml("audit", "tiny").out
    assert own.read_text() == "extends: tiny\ntitle: mine\n"


def test_label_files_of_a_persons_own_stay(dml, project, stage):
    folder = project / "pipelines/labels/tiny"
    folder.mkdir(parents=True)
    for name in ("left-out.csv", "mine.csv"):
        (folder / name).write_text("index,label\n0,7\n")
    done = dml("audit", "tiny")
    assert (done.code, stage) == (1, [])
    assert done.err.startswith("error: pipelines/labels/tiny/left-out.csv: ")
    assert (folder / "left-out.csv").read_text() == "index,label\n0,7\n"
    (folder / "left-out.csv").unlink()
    assert dml("audit", "tiny").code == 0
    assert dml("audit", "tiny").code == 0
    assert (folder / "left-out.csv").read_text() == "index,label\n0,-1\n"
    assert (folder / "mine.csv").read_text() == "index,label\n0,7\n"
