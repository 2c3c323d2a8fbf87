"""What a stage says to a user who asked for what cannot be done: one message, no traceback, nothing half done."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.slow


def folders(root: Path, *classes: str) -> None:
    for number, name in enumerate(classes):
        (root / name).mkdir(parents=True)
        for image in range(2):
            Image.fromarray(np.full((6, 6, 3), 20 * number + image, np.uint8)).save(root / name / f"{image}.png")


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


def test_labels_that_the_images_lack_are_missed_before_anything_trains(project, refused, tiny):
    folders(project.root / "photos", *"abcdefgh")
    text = tiny.replace("name: digits", "name: imagefolder\n    settings: {root: photos}")
    project.study("tiny", text)
    project.stages("download pack", "tiny")
    assert "'coarse' labels, which its images lack" in refused(project.stage("split", "tiny"))
    project.study("tiny", text.replace("train_on: coarse", "evaluate_on: [fine, coarse]"))
    assert "'coarse' labels, which its images lack" in refused(project.stage("split", "tiny"))
    text = text.replace("train_on: coarse", "train_on: fine")
    wrong = text.replace("{metrics", "{sets: [test, seen], metrics")
    project.study("tiny", wrong)
    assert "evaluation.sets names 'seen'" in refused(project.stage("split", "tiny"))
    project.study("tiny", text)
    project.stages("split corrupt", "tiny")
    project.study("tiny", wrong)  # the stage `split` does not depend on it
    assert "evaluation.sets names 'seen'" in refused(project.stage("sweep", "tiny"))
    assert not (project.root / "store/trials").exists()
