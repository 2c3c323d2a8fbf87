"""The theory's page says what the papers prove."""

import pytest

from dml.report import style, theory


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    root = tmp_path_factory.mktemp("theory")
    for name in ("figures", "data"):
        (root / name).mkdir()
    with style.applied():
        return theory.theory_page(root)


def _frame(page, section):
    return next(s for s in page.sections if s.id == section).tables[0].frame


def test_two_modes_win_with_easy_positives_alone(page):
    frame = _frame(page, "collapse")
    assert len(frame) == 12
    assert (frame.loc[frame["positives"] == "all", "n"].isna()).all()
    assert (frame.loc[frame["positives"] == "easy", "n"] <= theory.SAMPLES[-1]).all()


def test_pair_noise_stands_as_counted_and_as_printed(page):
    row = _frame(page, "pairs").query("K == 10 and p == 0.5").iloc[0]
    assert row["q+"] == pytest.approx(0.5 + 0.25 * (1 - 1 / 9))
    assert row["q+ as printed"] == pytest.approx(0.5 + 0.25 * (1 - 2 / 9))
    assert row["q-"] == pytest.approx(0.5 / 9 + 0.25 * 8 / 81)


def test_bounds_of_uniform_drawing(page):
    frame = _frame(page, "bounds").set_index("skew")
    assert frame.loc["eta = 1", "many"] == 1.0
    assert frame.loc["eta = 2", "many"] == pytest.approx(1 - 0.5**0.5)
    assert (frame["ten"] <= 1).all()
