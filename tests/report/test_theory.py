"""The theory page's numbers."""

import pytest

from dml.report.page.tables import Table
from dml.report.sections.bounds import Bounds
from dml.report.sections.collapse import SAMPLES, Collapse
from dml.report.sections.pair_noise import PairNoise


def _frame(section):
    return next(block for block in section.content() if isinstance(block, Table)).frame


def test_two_modes_win_only_with_easy_positives():
    frame = _frame(Collapse())
    assert len(frame) == 12
    assert (frame.loc[frame["positives"] == "all", "n"].isna()).all()
    assert (frame.loc[frame["positives"] == "easy", "n"] <= SAMPLES[-1]).all()


def test_pair_noise_is_shown_as_counted_and_as_printed():
    row = _frame(PairNoise()).query("K == 10 and p == 0.5").iloc[0]
    assert row["q+"] == pytest.approx(0.5 + 0.25 * (1 - 1 / 9))
    assert row["q+ as printed"] == pytest.approx(0.5 + 0.25 * (1 - 2 / 9))
    assert row["q-"] == pytest.approx(0.5 / 9 + 0.25 * 8 / 81)


def test_bounds_of_uniform_drawing():
    frame = _frame(Bounds()).set_index("skew")
    assert frame.loc["eta = 1", "many"] == 1.0
    assert frame.loc["eta = 2", "many"] == pytest.approx(1 - 0.5**0.5)
    assert (frame["ten"] <= 1).all()
