"""The section `claims`: which cells are compared, and for each mistake an error with line and choices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dml.config import ConfigError, SlopeSection, Study, load_study
from dml.config.pairing import pairs

BASE = """\
title: A study
datasets: [digits, mnist]
losses: [triplet, {name: triplet, settings: {synthesis: loop}}, proxy_nca]
positives: [random, easy, semihard]
negatives: [random, hard]
noise:
  - {name: uniform, rates: [0.0, 0.2, 0.4]}
  - {name: subset, rates: [0.2, 0.4]}
seeds: [0, 1]
claims:
"""
MINE = "  - paper: mine\n    text: Easy positives help.\n"


def load(tmp_path: Path, claims: str, base: str = BASE) -> Study:
    path = tmp_path / "mine.yaml"
    path.write_text(base + claims)
    return load_study(path)


def found(study: Study) -> list[tuple[list[str], list[str]]]:
    """The names of the cells of each pair."""
    (claim,) = study.claims
    return [([c.name for c in p.first], [c.name for c in p.second]) for p in pairs(claim, study.cells())]


def test_cells_are_paired_by_everything_that_is_not_named(tmp_path):
    text = MINE + "    compare: {first: {positives: easy}, second: {positives: [random, semihard]}}\n"
    names = found(load(tmp_path, text))
    assert len(names) == 2 * 3 * 2 * 2  # datasets, rates, negatives, two partners: toplines and proxy_nca do not count
    for (first,), (second,) in names:
        assert "subset" not in first
        assert first == second.replace("|random+", "|easy+").replace("|semihard+", "|easy+")


def test_another_loss_may_have_other_settings_and_no_policies(tmp_path):
    text = MINE + (
        "    compare: {first: {loss.synthesis: loop, positives: null, negatives: null},"
        " second: {loss: triplet, loss.synthesis: null, positives: random, negatives: hard}}\n"
        "    where: {rate: 0.2, dataset: digits}\n"
    )
    assert found(load(tmp_path, text)) == [
        (["digits|uniform-0.2|triplet(synthesis=loop)|all-pairs"], ["digits|uniform-0.2|triplet|random+hard"])
    ]


def test_a_named_noise_may_be_a_topline(tmp_path):
    text = MINE + "    compare: {first: {noise: uniform}, second: {noise: subset}}\n    where: {loss: proxy_nca}\n"
    assert [name for pair in found(load(tmp_path, text)) for (name,) in pair][:2] == [
        "digits|uniform-0.2|proxy_nca|all-pairs",
        "digits|subset-0.2|proxy_nca|all-pairs",
    ]


def test_a_break_points_lines_run_over_the_rates(tmp_path):
    text = (
        MINE + "    break_point: {first: {positives: easy}, second: {positives: random}}\n    where: {dataset: mnist}\n"
    )
    names = found(load(tmp_path, text))
    assert len(names) == 2
    assert names[0][0] == [f"mnist|uniform-{rate:g}|triplet|easy+random" for rate in (0, 0.2, 0.4)]


VARIED = """\
title: A study
datasets: [digits]
losses: [triplet, margin]
grid:
  batch: [{classes: 8, per_class: 2}, {classes: 4, per_class: 4}]
  training.embedding_size: [8, 16]
claims:
"""


def test_a_setting_that_moves_with_a_slopes_setting_stays_in_its_line(tmp_path):
    text = VARIED.replace("  batch: [{", "  batch: [{").replace(
        "batch: [{classes: 8, per_class: 2}, {classes: 4, per_class: 4}]",
        "training.batch: [{classes: 8, per_class: 2}, {classes: 4, per_class: 4}]",
    )
    study = load(tmp_path, MINE + "    slope: {over: training.batch.per_class, scale: log}\n", text)
    (claim,) = study.claims
    lines = [pair.first for pair in pairs(claim, study.cells())]
    assert len(lines) == 4
    for line in lines:
        assert [cell.grid_point["training.batch.per_class"] for cell in line] == [2, 4]
        assert len({cell.grid_point["training.embedding_size"] for cell in line}) == 1


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (0.5, 0.5), ("one/two", 1.0), (None, 2.0), ({"study": "a", "cell": {"loss": "margin"}}, 4.0), ("x", "x")],
)
def test_numbers_stand_for_values_that_are_none(value, number):
    values = {"one/two": 1.0, "none": 2.0, "study:a+cell:loss:margin": 4.0}
    assert SlopeSection(over="training.init_from", values=values).number(value) == number


def test_the_slope_of_a_difference_has_two_lines(tmp_path):
    text = MINE + "    slope: {over: rate, first: {positives: easy}, second: {positives: random}}\n"
    study = load(tmp_path, text)
    (claim,) = study.claims
    for pair in pairs(claim, study.cells()):
        assert [c.rate for c in pair.first] == [c.rate for c in pair.second] == [0.0, 0.2, 0.4]


COMPARE = "    compare: {first: {positives: easy}, second: {positives: random}}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "  - claim: eps-table-3-leters\n" + COMPARE,
            ["yaml:11: claims[0]", "mean 'eps-table-3-letters'"],
        ),
        ("  - claim: eps-table-3-letters\n    text: mine\n" + COMPARE, ["remove text"]),
        ("  - paper: mine\n" + COMPARE, ["claims[0]", "`paper` and `text`"]),
        (MINE, ["exactly one of compare, slope and break_point"]),
        (MINE + COMPARE + "    slope: {over: rate}\n", ["exactly one of"]),
        (MINE + COMPARE + "    directon: less\n", ["claims[0].directon", "did you mean 'direction'", "Choices: claim"]),
        (MINE + COMPARE + "    direction: more\n", ["'greater', 'less' or 'equal'", "'more'"]),
        (MINE + COMPARE + "    direction: equal\n", ["tolerance"]),
        (MINE + COMPARE + "    direction: equal\n    least: -1\n", ["tolerance"]),
        (
            MINE + COMPARE.replace("easy", "eazy"),
            ["yaml:13: claims[0].compare.first", "'eazy'", "Choices: 'random'"],
        ),
        (MINE + COMPARE.replace("positives", "positive"), ["unknown attribute 'positive'", "did you mean 'positives'"]),
        (
            MINE + COMPARE + "    where: {loss.margin: 1}\n",
            ["yaml:14: claims[0].where", "loss.synthesis"],
        ),
        (MINE + COMPARE + "    where: {loss: proxy_nca}\n", ["claims[0].compare.first", "all of: loss 'proxy_nca'"]),
        (MINE + COMPARE + "    score: fine/nmi+\n", ["mine.yaml:14: claims[0].score", "did you mean 'test/fine/nmi'"]),
        (MINE + COMPARE + "    score: diagnostics/active\n", ["claims[0].score", "mean 'diagnostics/active_share'"]),
        (MINE + COMPARE + "    score: diagnostics/eta\n    share: true\n", ["claims[0].share", "only scores"]),
        (MINE + COMPARE + "    score: seen/fine/nmi\n", ["Choices: test/fine/recall@1"]),
        (MINE + COMPARE + "    each: [positives]\n", ["claims[0].each", "differs within a comparison"]),
        (MINE + COMPARE + "    each: [los]\n", ["claims[0].each", "did you mean 'loss'"]),
        (MINE + COMPARE + "    share: true\n    where: {rate: 0}\n", ["claims[0].share", "rate 0"]),
        (MINE + COMPARE + "    share: true\n", ["claims[0].share", "expected `where: {rate: [0.2, 0.4]}`"]),
        (MINE + COMPARE + "    condition: {score: nmi}\n", ["claims[0].condition", "at_least or at_most"]),
        (
            MINE + COMPARE + "    condition: {at_least: 9, cells: {loss: soft}}\n",
            ["claims[0].condition.cells", "'soft'"],
        ),
        (MINE + COMPARE + "    condition: {at_least: 9, score: x}\n", ["claims[0].condition.score", "'x'"]),
        (
            MINE + "    compare: {first: {positives: easy}, second: {positives: random, loss: proxy_nca}}\n",
            ["claims[0].compare.second", "no cell of this study has all of"],
        ),
        (
            MINE + "    compare: {first: {positives: easy}, second: {loss: proxy_nca}}\n",
            ["claims[0].compare", "no cell of `first` has a partner"],
        ),
        (MINE + "    compare: {first: {positives: easy}, second: {positives: [easy, random]}}\n", ["share cells"]),
        (MINE + "    slope: {over: loss}\n", ["claims[0].slope.over", "expected numbers", "'triplet'"]),
        (MINE + "    slope: {over: rate}\n    where: {rate: 0.2}\n", ["only one value"]),
        (MINE + "    slope: {over: rate, scale: log}\n", ["above 0", "0.0"]),
        (MINE + "    slope: {over: rate, first: {positives: easy}}\n", ["`first` and `second`"]),
        (MINE + COMPARE.replace("compare", "break_point") + "    where: {rate: 0}\n", ["label noise"]),
        (MINE + COMPARE.replace("compare: {", "break_point: {at: 100, "), ["less than 100"]),
        (
            MINE + COMPARE.replace("compare", "break_point") + "    direction: equal\n    least: 1\n",
            ["never break", "look equal"],
        ),
    ],
)
def test_a_mistake_is_reported_with_line_value_and_choices(tmp_path, text, expected):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    missing = [fragment for fragment in ["mine.yaml", *expected] if fragment not in str(caught.value)]
    assert not missing, str(caught.value)


REFERENCES = (
    "reference_values:\n  - {paper: eps, table: '1', dataset: mnist, labels: a, method: b, match: {positive: easy}}\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REFERENCES, ["mine.yaml:13: reference_values[0].match", "did you mean 'positives'"]),
        ("report: {base: {positives: hard}}\n", ["mine.yaml:12: report.base.positives", "'hard'", "Choices: random"]),
        ("report: {base: {positive: easy}}\n", ["report.base.positive", "did you mean 'positives'"]),
    ],
)
def test_mistakes_in_reference_values_and_report(tmp_path, text, expected):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "  []\n" + text)
    missing = [fragment for fragment in expected if fragment not in str(caught.value)]
    assert not missing, str(caught.value)


def test_a_base_is_a_name_or_several(tmp_path):
    base = load(tmp_path, "  []\nreport: {base: {positives: semihard, negatives: [random, hard]}}\n").report.base
    assert base.positives == ["semihard"]
    assert base.negatives == ["random", "hard"]


def test_the_example_of_the_documentation_is_valid(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL) if b.startswith("claims:"))
    base = """\
title: A study
datasets: [{name: digits, train_on: coarse, evaluate_on: [fine, coarse]}]
losses:
  - {name: triplet, positives: [semihard, easy], negatives: [semihard_random]}
  - {name: margin, positives: [random, easy], negatives: [distance_weighted]}
  - {name: multi_similarity, positives: [multi_similarity, easy], negatives: [multi_similarity]}
grid: {training.batch.classes: [2, 4]}
training: {batch: {per_class: 8}}
"""
    first, second = load(tmp_path, block, base).claims
    assert first.printed is not None
    assert second.slope is not None


def test_a_claim_may_be_about_another_number_of_clusters(tmp_path):
    text = MINE + COMPARE + "    score: fine/nmi@30\nevaluation: {clusters: [30]}\n"
    assert load(tmp_path, text).claims[0].score == "fine/nmi@30"
    with pytest.raises(ConfigError, match="did you mean 'test/fine/nmi@30'"):
        load(tmp_path, text.replace("nmi@30", "nmi@31"))
