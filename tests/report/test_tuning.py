"""Comparisons at one learning rate say so, by the study's configuration, wherever they are shown."""

import pytest
from synthetic import EASIER

from dml.config import ComparisonSection, load_study
from dml.report.methods import NOT_TUNED, RATE_NOT_TUNED, mark

pytestmark = pytest.mark.slow

STUDY = """
title: A study
datasets: [digits]
losses: [triplet, margin]
positives: [random]
negatives: [random]
"""
RATES = "training: {search: {learning_rate: {choice: [0.001, 0.0001]}}}\n"
OTHER = "training: {search: {weight_decay: {choice: [0.0, 0.001]}}}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("search: {sampler: fixed}\n", NOT_TUNED),
        ("search: {sampler: fixed}\n" + RATES, NOT_TUNED),
        ("search: {sampler: tpe}\n", ""),
        ("training: {learning_rate: 0.001}\n", RATE_NOT_TUNED),
        ("training: {search: {}}\n", RATE_NOT_TUNED),
        (OTHER, RATE_NOT_TUNED),
        (RATES, ""),
        ("search: {sampler: fixed}\ngrid: {training.learning_rate: [0.001, 0.0001]}\n", ""),
        (
            "search: {sampler: fixed}\ngrid: {network: [{training.backbone: mlp, training.learning_rate: 0.001}, "
            "{training.backbone: small_conv, training.learning_rate: 0.01}]}\n",
            NOT_TUNED,
        ),
        ("search: {sampler: fixed}\ngrid: {training.loss_learning_rate: [0.001, 0.0001]}\n", NOT_TUNED),
    ],
)
def test_the_mark_follows_from_the_configuration(text, said, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(STUDY + text)
    assert mark(load_study(path)) == said


@pytest.fixture
def fixed(synthetic):
    """A study with one setting for each method, and a comparison."""
    search = synthetic.SearchSection(sampler="fixed", trials=1)
    return synthetic.small(search=search, compare=[ComparisonSection(text="Easy is better.", **EASIER)])
