"""The study as it ran comes back from its results, with today's title."""

import json
from pathlib import Path

import pytest

from dml.config import load_study
from dml.config.loading import record, recorded

STUDIES = sorted((Path(__file__).parents[2] / "pipelines/studies").glob("*.yaml"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_study_comes_back_as_it_ran(path):
    study = load_study(path)
    assert study.name == path.stem
    text = record(study)
    other = study.model_copy(update={"title": "Another", "seeds": [77], "losses": study.losses[:1]})
    found = recorded(text, other)
    assert found == study.model_copy(update={"title": "Another"})
    assert found.cells() == study.cells() != []
    assert found.digest == study.digest
    assert record(found) == text
    assert study.title not in text


def test_spaces_are_written_as_a_study_spells_them(tmp_path):
    path = tmp_path / "toys.yaml"
    path.write_text(
        "title: A\ndatasets: [digits]\npositives: [random]\nnegatives: [random]\nlosses:\n"
        "  - {name: triplet, search: {margin: {uniform: [0.1, 0.5]}}}\n"
        "  - {name: margin, search: {beta: own}}\n"
        "training: {search: {steps: {choice: [10, 20]}, learning_rate: {log_uniform: [0.0001, 0.01]}}}\n"
    )
    found = json.loads(record(load_study(path)))
    assert [loss["search"] for loss in found["losses"]] == [{"margin": {"uniform": [0.1, 0.5]}}, {"beta": "own"}]
    assert found["training"]["search"]["steps"] == {"choice": [10, 20]}
    assert found["training"]["search"]["learning_rate"] == {"log_uniform": [1e-4, 1e-2]}
