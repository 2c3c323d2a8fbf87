"""The numbers that the papers publish, and descents over free points."""

import numpy as np
import pytest

from dml.report.sections import reference_values
from papers import free_points


@pytest.mark.parametrize("sphere", [False, True])
def test_the_gradient_is_the_slope(sphere, monkeypatch):
    weights = np.random.default_rng(0).normal(size=(4, 4))
    seen = {}

    def stop(value, start, **options):
        seen["value"] = value
        return type("End", (), {"x": start, "fun": value(start)[0]})

    monkeypatch.setattr(free_points, "minimize", stop)
    start = np.random.default_rng(1).normal(size=(4, 3))
    free_points.descend(
        lambda d: (float((weights * np.sqrt(d + 0.1)).sum()), weights / 2 / np.sqrt(d + 0.1)), start, sphere
    )
    _, gradient = seen["value"](start.ravel())
    for place in range(start.size):
        step = np.zeros(start.size)
        step[place] = 1e-6
        slope = (seen["value"](start.ravel() + step)[0] - seen["value"](start.ravel() - step)[0]) / 2e-6
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_three_points_on_the_sphere_end_120_degrees_apart():
    """The largest sum of squared distances of K points is K^2, at a centre of 0."""
    end = free_points.descend(
        lambda d: (-float(d.sum()), -np.ones_like(d)), np.random.default_rng(0).normal(size=(3, 2)), True
    )
    assert end.risk == pytest.approx(-2 * 9)
    assert np.allclose(np.linalg.norm(end.points, axis=1), 1)
    assert np.allclose(end.points.mean(axis=0), 0, atol=1e-6)


def test_all_rows_load():
    table = reference_values.table()
    assert list(table.columns) == list(reference_values.COLUMNS)
    assert table["value"].between(0, 100).all()
    assert not table.duplicated(list(reference_values.COLUMNS[:-1])).any()
    assert len(table[table["paper"].isin(["eps", "loop"])]) == 657
