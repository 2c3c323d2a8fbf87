"""The Pareto front: against a loop, and on the page."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from dml.report.analysis.pareto_front import front, kept
from dml.report.figures.pooled import front_points
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


def test_numbers_on_a_crowded_front_do_not_overlap():
    place = np.arange(30)
    crowd = pd.DataFrame({"number": place + 1, "clean": 60 - 0.3 * place, "share": 50 + 0.4 * place})
    for key in ("clean", "share"):
        crowd[f"{key} low"], crowd[f"{key} high"] = crowd[key] - 1, crowd[key] + 1
    figure = front_points(crowd, 0.4, "R@1")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = figure.axes[0].texts
    assert 5 < len(texts) < 30
    assert texts[0].get_text() == "1"
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
