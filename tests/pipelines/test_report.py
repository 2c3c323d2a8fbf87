"""Which studies the report shows."""

import pytest

from dml.config import load_study
from dml.pipeline import report


@pytest.fixture
def root(tmp_path, monkeypatch, tiny):
    """A project whose studies `mine` and `chosen` have results here, and `other` a snapshot."""
    for name in ("mine", "chosen", "other", "never"):
        file = tmp_path / f"pipelines/studies/{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(tiny)
    for place in ("results/mine/trials.parquet", "results/chosen/trials.parquet", "docs/results/other/trials.parquet"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(*names):
    return [study.name for study in report.pages([load_study(f"pipelines/studies/{name}.yaml") for name in names])]


def test_results_of_studies_that_are_not_chosen_stay(root):
    assert shown("chosen") == ["chosen", "mine", "other"]
    assert shown("mine", "chosen") == ["mine", "chosen", "other"]


@pytest.mark.parametrize("text", [None, "losses: [none]\n"])
def test_results_without_a_study_are_left_out_and_named(root, capsys, text):
    file = root / "pipelines/studies/mine.yaml"
    file.unlink() if text is None else file.write_text(text)
    assert shown("chosen") == ["chosen", "other"]
    said = capsys.readouterr().err
    assert said.startswith("report: results/mine: left out: ")
    assert "mine.yaml" in said
