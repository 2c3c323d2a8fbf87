"""`training.init_from`: which weights a study may name."""

from __future__ import annotations

from dml.config import InitFromSection


def test_the_ways_to_name_weights(study):
    for text, expected in (
        ("{path: store/model}", InitFromSection(path="store/model")),
        (
            "{study: other, cell: {loss: triplet, rate: 0.3, loss.margin: 0.1}}",
            InitFromSection(study="other", cell={"loss": "triplet", "rate": 0.3, "loss.margin": 0.1}),
        ),
    ):
        assert study(f"training: {{init_from: {text}}}").training.init_from == expected
    assert study("").training.init_from is None


def test_starts_vary(study):
    found = study("grid: {training.init_from: [null, {study: other, cell: {loss: triplet}}]}")
    starts = [found.training_of(cell).init_from for cell in found.cells()]
    assert starts == [None, InitFromSection(study="other", cell={"loss": "triplet"})]
    assert len({cell.name for cell in found.cells()}) == 2
