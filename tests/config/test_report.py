"""The section `report`: what it accepts, and what is refused with file, line and choices."""

from pathlib import Path

import pytest

from dml.config import ConfigError, Study, load_study

GOOD = """\
title: A study
datasets: [digits]
losses: [triplet]
positives: [random, easy]
negatives: [random]
grid:
  training.embedding_size: [2, 8]
evaluation: {keep_embeddings: true, keep_start_embeddings: true}
report:
  figures: [retrieval, similarities, tsne, spectrum]
  cells: {positives: easy, training.embedding_size: 8}
  queries: 6
"""


def load(tmp_path: Path, text: str) -> Study:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_study(path)


def test_the_figures_of_a_study_and_their_defaults(tmp_path):
    study = load(tmp_path, GOOD)
    assert study.report.figures == ["retrieval", "similarities", "tsne", "spectrum"]
    assert (study.report.queries, study.report.neighbors, study.report.seed) == (6, 5, 0)
    assert load(tmp_path, GOOD.split("evaluation:")[0]).report.figures == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ("keep_embeddings: true,", "keep_embeddings: false,"),
            "mine.yaml:10: report.figures[0]: 'retrieval' is drawn from kept embeddings: expected "
            "evaluation.keep_embeddings true, got false",
        ),
        (
            ("keep_start_embeddings: true", "keep_start_embeddings: false"),
            "mine.yaml:10: report.figures[1]: 'similarities' is drawn from kept embeddings: expected "
            "evaluation.keep_start_embeddings true, got false",
        ),
        (
            ("evaluation: {", "evaluation: {sets: [seen], "),
            "mine.yaml:10: report.figures[0]: 'retrieval' shows queries of the test set: expected 'test' in "
            "evaluation.sets, got ['seen']",
        ),
        (("tsne", "t-sne"), "mine.yaml:10: report.figures[2]: expected 'retrieval', 'similarities', 'tsne'"),
        (
            ("positives: easy, training", "positives: hard, training"),
            "mine.yaml:11: report.cells: no cell of this study has positives 'hard'. Choices: 'random', 'easy'",
        ),
        (("cells: {positives", "cells: {positive"), "did you mean 'positives'? Choices: dataset, noise, rate"),
        (("training.embedding_size: 8", "training.embedding_size: 4"), "training.embedding_size 4. Choices: 2, 8"),
        (("queries: 6", "queries: 0"), "mine.yaml:12: report.queries: expected at least"),
        (("queries: 6", "neighbours: 3"), "unknown key; did you mean 'neighbors'?"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, change, expected):
    with pytest.raises(ConfigError) as error:
        load(tmp_path, GOOD.replace(*change))
    assert expected in str(error.value)
