"""Shares of the topline and break points, against values computed by hand."""

import json
import math

import numpy as np
import pytest

from dml.config import NoiseSpec
from dml.report import figures, robustness, style
from dml.report.results import load


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
    assert robustness.break_point(rates, shares) == pytest.approx(expected)


def _study(synthetic, *models):
    noise = [NoiseSpec.model_construct(model=m, rates=[0.0, 0.2, 0.4], settings={}) for m in models]
    return synthetic.study(losses=["triplet"], positives=["easy"], negatives=["random"], noise=noise)


def _loaded(study, synthetic, folder, scores, eta=None):
    def alter(frame):
        for (noise, rate), values in scores.items():
            rows = (frame["noise"] == noise) & (frame["rate"] == rate) & (frame["phase"] == "confirm")
            frame.loc[rows, "test/fine/recall@1"] = values
        if eta is not None:
            frame["diagnostics"] = json.dumps({"eta": eta})
        return frame

    synthetic.write(study, folder, alter)
    return load(study, folder / "results" / study.name)


def test_shares_are_of_the_topline_at_the_same_rate(synthetic, tmp_path):
    study = _study(synthetic, "uniform", "subset")
    scores = {
        ("uniform", 0.0): [0.8, 0.8, 0.8],
        ("uniform", 0.4): [0.60, 0.63, 0.66],
        ("subset", 0.4): [0.75, 0.70, 0.66],
    }
    results = _loaded(study, synthetic, tmp_path, scores)
    name = next(n for n, c in results.cells.items() if (c.noise, c.rate) == ("uniform", 0.4))
    assert list(robustness.kept(results, name, "test/fine/recall@1")) == pytest.approx([80.0, 90.0, 100.0])
    frame = robustness.table(results).frame
    assert list(frame["noise"]) == ["uniform"]
    assert frame["0.4 mean"][0] == pytest.approx(90.0)
    with style.applied():
        assert figures.against_noise(results, "digits", "uniform", "test/fine/recall@1", of_topline=True) is not None


def test_without_a_topline_the_clean_cell_is_the_reference(synthetic, tmp_path):
    scores = {("uniform", 0.0): [0.8] * 3, ("uniform", 0.2): [0.76] * 3, ("uniform", 0.4): [0.68] * 3}
    table = robustness.table(_loaded(_study(synthetic, "uniform"), synthetic, tmp_path, scores))
    row = table.frame.iloc[0]
    assert (row["0.2 mean"], row["0.4 mean"]) == pytest.approx((95.0, 85.0))
    assert row["break point"] == pytest.approx(0.3)
    assert "without noise" in table.caption
    assert table.rows()[0][[c.key for c in table.columns].index("break point")].text == "30%"


def test_a_method_that_does_not_break_says_how_far_it_was_measured(synthetic, tmp_path):
    scores = {("uniform", rate): [0.8] * 3 for rate in (0.0, 0.2, 0.4)}
    table = robustness.table(_loaded(_study(synthetic, "uniform"), synthetic, tmp_path, scores))
    assert table.rows()[0][[c.key for c in table.columns].index("break point")].text == "above 40%"


def test_the_bound_stands_beside_where_eta_was_logged(synthetic, tmp_path):
    scores = {("uniform", 0.0): [0.8] * 3, ("uniform", 0.4): [0.6] * 3}
    table = robustness.table(_loaded(_study(synthetic, "uniform"), synthetic, tmp_path, scores, eta=2.0))
    assert table.frame["bound"][0] == pytest.approx(1 - np.sqrt(1 - 1 / 2))
    assert "bound" in [c.key for c in table.columns]
