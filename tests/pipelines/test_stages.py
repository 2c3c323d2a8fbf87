"""What a stage says to a user who asked for what cannot be done: one message, no traceback, nothing half done."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        ("versions", "data/tiny/noise/oak.png"),
        ("versions", "report/thesis.tex"),
        ("report", "report/thesis.tex"),
        ("split", "data/tiny/split/oak.png"),
        ("audit", "data/tiny/audit.json"),
        ("sweep", "results/tiny/summary.json"),
    ],
)
def test_a_stage_refuses_while_a_file_of_a_person_is_where_it_writes(project, refused, tiny, stage, name):
    """So a bare `dvc repro` does: its first stage looks for all of them."""
    project.study("tiny", tiny)
    assert project.stage("choose", "tiny").code == 0
    (project.root / name).parent.mkdir(parents=True)
    (project.root / name).write_text("mine")
    done = project.stage(stage, *(["tiny"] if stage not in ("versions", "report") else []))
    assert refused(done).startswith(f"{name}: dml writes there")
    assert (project.root / name).read_text() == "mine"
    assert [path.name for path in (project.root / name).parent.iterdir()] == [Path(name).name]


def test_an_absent_dataset_says_which_file_to_put_where(project, refused, tiny):
    project.study("tiny", tiny.replace("digits", "mnist"))
    message = refused(project.stage("download", "tiny"))
    name = "train-images-idx3-ubyte.gz"
    assert f"Put it at {project.root}/store/raw/mnist/{name}" in message
    assert f"<mirror>/mnist/{name}" in message
    assert "DML_MIRROR" in message
    assert not (project.root / "data").exists()
    assert "run the download stage" in refused(project.stage("pack", "tiny"))
