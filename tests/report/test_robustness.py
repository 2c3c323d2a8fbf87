"""Shares of the reference and break points, against values computed by hand."""

import json
import math

import pytest
from synthetic import KEY, first_row, scoring

from dml.report.analysis.shares import break_point, compared_scores, kept
from dml.report.analysis.skew import skew_of
from dml.report.page.blocks import Drawing
from dml.report.page.tables import Table
from dml.report.sections.robustness import Robustness, table

pytestmark = pytest.mark.slow


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
        noise = synthetic.noise([0.0, 0.2, 0.4], *models)
        return loaded(synthetic.small(positives=["easy"], noise=noise), scoring(scores, "noise", "rate"))

    return make


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
    assert first_row(made)["break point"] == "30%"


def test_a_method_that_does_not_break_shows_the_largest_measured_rate(scored):
    made = table(scored(["uniform"], {("uniform", rate): [0.8] * 3 for rate in (0.0, 0.2, 0.4)}))
    assert first_row(made)["break point"] == "above 40%"


@pytest.fixture
def with_nmi(synthetic, loaded):
    """Results of three methods under noise and with toplines, whose NMI keeps more of its topline than R@1."""

    def alter(frame):
        for i, noise in enumerate(("uniform", "subset")):
            chosen = (frame["noise"] == noise) & (frame["phase"] == "confirm")
            rate = frame.loc[chosen, "rate"]
            frame.loc[chosen, KEY] = 0.8 * (1 - rate * (0.1 if i else 0.5))
            frame.loc[chosen, "test/fine/nmi"] = 0.6 * (1 - rate * (0.1 if i else 0.2))
        frame["diagnostics"] = json.dumps(
            {"eta_drawn": [400, 400], "eta_uniform": [200, 600], "training_classes": 10.0}
        )
        return frame

    study = synthetic.small(
        noise=synthetic.noise([0.0, 0.2, 0.4], "uniform", "subset"),
        evaluation=synthetic.evaluation(["recall@1", "map@r", "nmi"], ["test"]),
        losses=["triplet", "margin"],
        positives=["easy"],
    )
    return loaded(study, alter)


def test_the_score_of_a_clustering_stands_beside_the_objective(with_nmi):
    assert compared_scores(with_nmi, "digits") == [KEY, "test/fine/nmi"]
    tables = [block for block in Robustness().content(with_nmi) if isinstance(block, Table)]
    assert [made.title for made in tables] == ["What noise costs", "What noise costs: NMI"]
    for made, slope in zip(tables, (0.5, 0.2), strict=True):
        assert made.frame["0.4 mean"].tolist() == pytest.approx([100 * (1 - 0.4 * slope) / 0.96] * 2)
    assert first_row(tables[0])["break point"] == "24%", "0.2 + 0.2 (91.8 - 90) / (91.8 - 83.3)"
    assert first_row(tables[1])["break point"] == "above 40%"


def test_the_bound_stands_beside_the_break_point(with_nmi):
    made = table(with_nmi)
    columns = [c.key for c in made.columns]
    assert columns.index("bound") == columns.index("break point") + 1
    frame = made.frame.set_index("loss")
    name = next(n for n, c in with_nmi.cells.items() if c.loss.name == "triplet" and c.rate == 0)
    assert frame.loc["triplet", "bound"] == skew_of(with_nmi, name)["bound"]
    assert math.isnan(frame.loc["margin", "bound"]), "its gamma was not measured"


def test_noise_and_topline_are_in_one_figure(with_nmi):
    drawings = [block for block in Robustness().content(with_nmi) if isinstance(block, Drawing)]
    assert [block.name for block in drawings] == ["topline-digits-uniform", "topline-digits-uniform-nmi"]
    first, second, share = drawings[0].figure.axes
    assert [axes.get_title()[:3] for axes in (first, second, share)] == ["(a)", "(b)", "(c)"]
    noisy, clean = first.lines
    assert noisy.get_xdata().tolist() == clean.get_xdata().tolist() == [0, 0.2, 0.4]
    assert noisy.get_ydata() == pytest.approx([80.0, 72.0, 64.0])
    assert clean.get_ydata() == pytest.approx([80.0, 78.4, 76.8])
    assert clean.get_linestyle() == "--"
    lines = [line for line in share.lines if len(line.get_xdata()) == 3]
    assert len(lines) == 2
    assert lines[0].get_ydata() == pytest.approx([100, 100 * 72 / 78.4, 100 * 64 / 76.8])


def test_many_methods_share_the_colours_of_their_positives(synthetic, loaded):
    study = synthetic.study(
        noise=synthetic.noise([0.0, 0.2], "uniform", "subset"),
        losses=["triplet", "margin", "contrastive"],
    )
    drawing = next(block for block in Robustness().content(loaded(study)) if isinstance(block, Drawing))
    labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert labels == ["random positives", "easy positives", "wrong labels", "topline: correct labels only"]
    assert len(drawing.figure.axes) >= 7
