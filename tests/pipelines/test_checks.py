"""What only the data can tell is refused before the first trial, with file and line."""

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("replaced", "line", "expected"),
    [
        (("batch: {classes: 2, per_class: 4}", "batch: {classes: 5, per_class: 4}"), 13, "training.batch"),
        (("seeds: [0]", "grid: {training.batch.classes: [2, 5]}\nseeds: [0]"), 10, "grid"),
    ],
)
def test_more_classes_in_a_batch_than_there_are(project, refused, tiny, replaced, line, expected):
    assert replaced[0] in tiny
    project.study("tiny", tiny.replace(*replaced))
    project.stages("download pack split corrupt", "tiny")
    message = refused(project.stage("sweep", "tiny"))
    assert message.startswith(f"pipelines/studies/tiny.yaml:{line}: {expected}"), message
    assert "dataset 'digits'" in message
    assert "5" in message
    assert not (project.root / "store/trials").exists()
