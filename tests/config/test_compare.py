"""The section `compare`: which cells are paired, and for each mistake an error with line and choices."""

import pytest

from dml.config.compare import pairs

STUDY = """\
title: A study
datasets: [digits, mnist]
losses: [triplet, {name: triplet, settings: {synthesis: loop}}, proxy_nca]
positives: [random, easy, semihard]
negatives: [random, hard]
noise:
  - {name: uniform, rates: [0.0, 0.2, 0.4]}
  - {name: subset, rates: [0.2, 0.4]}
seeds: [0, 1]
compare:
"""
EASIER = "  - first: {positives: easy}\n    second: {positives: random}\n"


@pytest.fixture
def cells(study):
    return study(EASIER).cells()


def names(found):
    return [([cell.name for cell in first], [cell.name for cell in second]) for first, second in found]


def test_cells_are_paired_by_everything_that_is_not_named(cells):
    found = names(pairs(cells, {"positives": "easy"}, {"positives": ["random", "semihard"]}))
    assert len(found) == 2 * 3 * 2 * 2  # datasets, rates, negatives, partners: no topline, no loss without tuples
    for (first,), (second,) in found:
        assert "subset" not in first
        assert first == second.replace("|random+", "|easy+").replace("|semihard+", "|easy+")


def test_another_loss_may_have_other_settings_and_no_policies(cells):
    own = {"loss.synthesis": "loop", "positives": None, "negatives": None}
    other = {"loss": "triplet", "loss.synthesis": None, "positives": "random", "negatives": "hard"}
    assert names(pairs(cells, own, other, {"rate": 0.2, "dataset": "digits"})) == [
        (["digits|uniform-0.2|triplet(synthesis=loop)|all-pairs"], ["digits|uniform-0.2|triplet|random+hard"])
    ]


@pytest.mark.parametrize("second", [None, {"positives": "random"}])
def test_the_cells_of_a_line_differ_in_one_setting(cells, second):
    where = {"dataset": "mnist", "negatives": "hard"}
    ((first, other),) = names(pairs(cells, {"positives": "easy"}, second, where, varying="rate"))
    assert first == [f"mnist|uniform-{rate:g}|triplet|easy+hard" for rate in (0, 0.2, 0.4)]
    assert other == ([] if second is None else [name.replace("easy", "random") for name in first])


def test_a_setting_that_moves_with_a_slopes_setting_stays_in_its_line(study):
    axes = "  training.batch: [{classes: 8, per_class: 2}, {classes: 4, per_class: 4}]\n"
    axes += "  training.embedding_size: [8, 16]\n"
    cells = study(f"grid:\n{axes}", text="title: A study\ndatasets: [digits]\nlosses: [triplet, margin]\n").cells()
    lines = [line for line, _ in pairs(cells, {}, None, varying="training.batch.per_class")]
    assert len(lines) == 4
    for line in lines:
        assert [cell.grid_point["training.batch.per_class"] for cell in line] == [2, 4]
        assert len({cell.grid_point["training.embedding_size"] for cell in line}) == 1
