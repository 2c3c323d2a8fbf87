"""Shares of the reference and break points, against values computed by hand."""

import math

import pytest

from dml.report.analysis.shares import break_point, kept
from dml.report.page.blocks import Drawing
from dml.report.page.cells import rows
from dml.report.sections.robustness import Robustness, table

KEY = "test/fine/recall@1"


@pytest.mark.parametrize(
    ("rates", "shares", "expected"),
    [
        ([0.2, 0.4], [95.0, 85.0], 0.3),
        ([0.2, 0.4], [80.0, 70.0], 0.1),
        ([0.4, 0.2], [85.0, 95.0], 0.3),
        ([0.2, 0.4], [99.0, 90.0], math.inf),
        ([0.2], [89.99], 0.2 * 10 / 10.01),
    ],
)
def test_where_a_tenth_is_lost(rates, shares, expected):
    assert break_point(rates, shares) == pytest.approx(expected)


@pytest.fixture
def scored(synthetic, loaded):
    """(noise models, {(noise, rate): scores of three seeds}) -> results of one method."""

    def make(models, scores):
        def alter(frame):
            for (noise, rate), values in scores.items():
                chosen = (frame["noise"] == noise) & (frame["rate"] == rate) & (frame["phase"] == "confirm")
                frame.loc[chosen, KEY] = values
            return frame

        noise = synthetic.noise([0.0, 0.2, 0.4], *models)
        return loaded(synthetic.small(positives=["easy"], noise=noise), alter)

    return make


def _break_point(table):
    return rows(table)[0][[c.key for c in table.columns].index("break point")].text


def test_shares_are_of_the_topline_at_the_same_rate(scored):
    scores = {
        ("uniform", 0.0): [0.8, 0.8, 0.8],
        ("uniform", 0.4): [0.60, 0.63, 0.66],
        ("subset", 0.4): [0.75, 0.70, 0.66],
    }
    results = scored(["uniform", "subset"], scores)
    name = next(n for n, c in results.cells.items() if (c.noise, c.rate) == ("uniform", 0.4))
    assert list(kept(results, name, KEY)) == pytest.approx([80.0, 90.0, 100.0])
    frame = table(results).frame
    assert list(frame["noise"]) == ["uniform"]
    assert frame["0.4 mean"][0] == pytest.approx(90.0)
    drawn = [block for block in Robustness().content(results) if isinstance(block, Drawing)]
    assert [block.figure is not None for block in drawn] == [True]


def test_without_a_topline_the_clean_cell_is_the_reference(scored):
    made = table(
        scored(["uniform"], {("uniform", 0.0): [0.8] * 3, ("uniform", 0.2): [0.76] * 3, ("uniform", 0.4): [0.68] * 3})
    )
    row = made.frame.iloc[0]
    assert (row["0.2 mean"], row["0.4 mean"]) == pytest.approx((95.0, 85.0))
    assert row["break point"] == pytest.approx(0.3)
    assert "rate 0" in made.caption
    assert _break_point(made) == "30%"


def test_a_method_that_does_not_break_shows_the_largest_measured_rate(scored):
    made = table(scored(["uniform"], {("uniform", rate): [0.8] * 3 for rate in (0.0, 0.2, 0.4)}))
    assert _break_point(made) == "above 40%"
