"""`training.init_from`: which weights a study may name."""

from __future__ import annotations

import pytest

from dml.config import ConfigError, InitFromSection

STUDY = """\
title: From other weights
datasets: [digits]
losses: [triplet]
"""


def test_the_ways_to_name_weights(study):
    for text, expected in (
        ("{path: store/model}", InitFromSection(path="store/model")),
        ("{study: other, best: true, head: new}", InitFromSection(study="other", best=True, head="new")),
        (
            "{study: other, cell: {loss: triplet, rate: 0.3, loss.margin: 0.1}}",
            InitFromSection(study="other", cell={"loss": "triplet", "rate": 0.3, "loss.margin": 0.1}),
        ),
    ):
        assert study(f"training: {{init_from: {text}}}").training.init_from == expected
    assert study("").training.init_from is None


def test_starts_vary(study):
    found = study("grid: {training.init_from: [null, {study: other, best: true}]}")
    starts = [found.training_of(cell).init_from for cell in found.cells()]
    assert starts == [None, InitFromSection(study="other", best=True)]
    assert len({cell.name for cell in found.cells()}) == 2


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("{}", "expected either `path` or `study`"),
        ("{path: a, study: b, best: true}", "expected either `path` or `study`"),
        ("{path: a, best: true}", "`cell` and `best` choose a model of a study"),
        ("{study: other}", "expected either `cell`, .* or `best: true`"),
        ("{study: other, best: true, cell: {loss: triplet}}", "expected either `cell`, .* or `best: true`"),
        ("{study: other, cell: {los: triplet}}", "unknown attribute 'los'; did you mean 'loss'.*Choices: dataset"),
        ("{study: other, best: true, head: old}", "'keep' or 'new', got 'old'"),
        ("{studdy: other, best: true}", "studdy: unknown key; did you mean 'study'"),
        ("{study: mine, best: true}", "a study cannot start from its own models"),
    ],
)
def test_what_names_no_weights_is_refused_with_its_line(study, start, expected):
    with pytest.raises(ConfigError, match=rf"mine\.yaml:5: training\.init_from.*{expected}"):
        study(f"training:\n  init_from: {start}\n")
