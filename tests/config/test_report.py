"""The section `report`: what it accepts, and what is refused with file, line and choices."""

from pathlib import Path

from dml.config import Study, load_study

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
"""


def load(tmp_path: Path, text: str) -> Study:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_study(path)


def test_the_figures_of_a_study_and_their_defaults(tmp_path):
    study = load(tmp_path, GOOD)
    assert study.report.figures == ["retrieval", "similarities", "tsne", "spectrum"]
    assert load(tmp_path, GOOD.split("evaluation:")[0]).report.figures == []
