"""The theory page's section on the histogram loss, and its cost."""

import pytest

from dml.report.page.blocks import Table
from papers.histogram.sections.histogram_estimate import HistogramEstimate
from papers.histogram.theory import quadruplet_cost, reverse_order
from papers.histogram.verdicts import of_histogram as histogram_verdicts


def test_verdicts():
    found = {v.claim: v for v in HistogramEstimate().verdicts()}
    assert {claim: v.verdict for claim, v in found.items()} == {
        "histogram-reverse-order": "confirmed",
        "histogram-all-quadruplets": "confirmed",
        "histogram-derivatives": "refuted",
    }
    assert "margin" in found["histogram-reverse-order"].corrected
    assert found["histogram-derivatives"].corrected


def test_the_loss_is_above_p_and_nearer_with_more_nodes():
    frame = next(b for b in HistogramEstimate().content() if isinstance(b, Table)).frame
    for _, rows in frame.groupby("similarities"):
        assert (rows["bias"] > 0).all()
        assert rows["bias"].is_monotonic_decreasing
        assert rows["ratio"].iloc[-1] == pytest.approx(1, abs=0.02)
        assert (rows["loss"] - rows["margin"]).abs().iloc[4:].max() < 0.2 * rows["bias"].iloc[4]


def test_a_loss_that_does_not_converge_is_refuted(monkeypatch):
    rows = tuple(row | {"bias": 0.1} for row in histogram_verdicts.rows())
    monkeypatch.setattr(histogram_verdicts, "rows", lambda: rows)
    assert histogram_verdicts.estimate().verdict == "refuted"


def test_a_loss_that_misses_quadruplets_is_refuted(monkeypatch):
    monkeypatch.setattr(reverse_order, "over_quadruplets", lambda s, bins: 0.5)
    assert histogram_verdicts.quadruplets().verdict == "refuted"


def test_work_that_grows_with_the_quadruplets_is_refuted(monkeypatch):
    found = [cost._replace(made=cost.quadruplets) for cost in quadruplet_cost.costs()]
    monkeypatch.setattr(histogram_verdicts, "costs", lambda: found)
    assert histogram_verdicts.quadruplets().verdict == "refuted"
