"""Which noise levels have labels as given, and which cells' scores compare."""

import pytest

from dml.config import audited_cell
from dml.config.for_use import AS_GIVEN, as_given, comparable, for_use, levels_for_use
from dml.types import NoiseLevel

STUDY = """
title: t
datasets: {datasets}
losses: [triplet, margin]
"""


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ("uniform-0 uniform-0.2", "uniform-0"),
        ("uniform-0.2 asymmetric-0 uniform-0 subset-0", "asymmetric-0 uniform-0 subset-0"),  # the same labels
        ("uniform-0 given-0.2 uniform-0.2", "given-0.2"),
        ("uniform-0 label_file:a-0 label_file:b-0.3", "uniform-0"),
        ("uniform-0.2 label_file:people-0.3", "label_file:people-0.3"),
        ("label_file:a-0 label_file:b-0", ""),
        ("uniform-0.2 subset-0.2", ""),
        ("dml.noise.plain.Uniform-0 dml.noise.plain.Uniform-0.1", "dml.noise.plain.Uniform-0"),
    ],
)
def test_labels_as_given(levels, expected):
    known = [NoiseLevel(name, float(rate)) for name, _, rate in (text.rpartition("-") for text in levels.split())]
    assert " ".join(map(str, as_given(known))) == expected


def test_of_several_levels_of_a_noise_one_is_asked_for():
    levels = [NoiseLevel("uniform", 0.0), NoiseLevel("similarity", 0.2), NoiseLevel("similarity", 0.4)]
    with pytest.raises(ValueError, match=r"'similarity': choose one with --noise: similarity-0.2, similarity-0.4$"):
        levels_for_use(levels, "similarity", "mine")


def test_scores_compare_within_a_dataset_and_a_level(study):
    noise = "noise: [{name: uniform, rates: [0.2, 0.0]}, {name: subset, rates: [0.0]}]\n"
    cells = study(noise, "[digits, mnist]").cells()
    groups = comparable(cells)
    assert list(groups) == [(name, level) for level in (AS_GIVEN, "uniform-0.2") for name in ("digits", "mnist")]
    assert sorted(place for places in groups.values() for place in places) == list(range(len(cells)))
    assert for_use(cells) == list(groups.values())[:2]
    assert all(cells[place].rate == 0 and cells[place].dataset == "digits" for place in for_use(cells)[0])
    assert for_use(study("noise: [{name: uniform, rates: [0.2]}]\n", "[digits]").cells()) == []


def test_an_audit_trains_as_the_first_cell_with_labels_as_given(study):
    noise = "noise: [{name: uniform, rates: [0.4, 0.0]}]\n"
    for trained, rate in (("true", 0.0), ("{loss: margin}", 0.0), ("{rate: 0.4}", 0.4)):
        found = study(f"{noise}audit: {{trained: {trained}}}\n", "[digits]")
        assert audited_cell(found.audit, found).rate == rate
