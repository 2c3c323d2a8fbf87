"""Comparisons at one learning rate say so, by the study's configuration, wherever they are shown."""

import re

import pytest
from synthetic import EASIER

from dml import discovery
from dml.config import ComparisonSection, load_study
from dml.report import assembly
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


def test_a_studys_page_marks_its_comparisons_and_explains_the_mark_once(fixed, built):
    page = re.sub(r"<a class=\"term\"[^>]*>(.*?)</a>", r"\1", built(fixed))
    heads = dict(re.findall(r'<h2 id="([\w-]+)">(.*?)</h2>', page))
    assert {"winners", "claims"} <= set(heads)
    comparing = {discovery.build("dml.report.sections", name).anchor for name in assembly.COMPARING}
    for anchor, head in heads.items():
        assert (NOT_TUNED in head) == (anchor in comparing), anchor
    assert page.count("Not tuned: each method has one setting") == 1
    (claim,) = re.findall(r'<ul class="evidence">.*?</ul>', page, re.DOTALL)
    assert "3 seeds, not tuned" in claim
