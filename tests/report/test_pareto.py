"""The Pareto front: against a loop, and on the page."""

import numpy as np
import pytest

from dml.report.analysis.front import front, kept
from dml.report.page.blocks import Drawing
from dml.report.page.tables import Table
from dml.report.sections.pareto import Pareto


def test_the_front_against_a_loop():
    points = np.random.default_rng(5).integers(0, 12, (60, 2)).astype(float)
    expected = [not any((other >= one).all() and (other > one).any() for other in points) for one in points]
    assert front(points).tolist() == expected
    assert front(np.empty((0, 2))).tolist() == []


def test_the_front_is_drawn_with_the_share_that_is_kept(synthetic, loaded):
    results = loaded(synthetic.study())
    points = kept(results, "digits", "uniform", 0.4)
    assert len(points) == 8
    one, key = points[0], results.objective("digits")
    expected = (results.values(one.noisy, key) / results.values(one.clean, key)).mean() * 100
    assert one.share.mean == pytest.approx(expected)
    drawing, *tables = filter(None, Pareto().content(results))
    assert isinstance(drawing, Drawing)
    assert len(tables) == 2
    assert all(isinstance(table.blocks[0], Table) for table in tables)
    assert not Pareto().applies(loaded(synthetic.study("clean", noise=synthetic.noise([0.0]))))
