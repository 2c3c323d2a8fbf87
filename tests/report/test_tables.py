"""The tables against values computed by hand."""

import json

import numpy as np
import pandas as pd
import pytest
from synthetic import scoring

from dml.config import SearchSection
from dml.report.assembly import points
from dml.report.numbers import duration, number, p_value, percent, rate
from dml.report.page.blocks import rows
from dml.report.sections.all_results import main_results
from dml.report.sections.reference_values import reference_values_beside
from dml.report.sections.settings import best_settings
from dml.report.sections.training_log import TrainingLog
from dml.report.sections.winners import winners


def test_a_cells_mean_spread_and_interval(synthetic, loaded):
    study = synthetic.study()
    cell = study.cells()[0].name
    results = loaded(study, scoring({cell: [0.60, 0.62, 0.67]}, "cell"))
    table = main_results(results)[0]
    row = table.frame.set_index("cell").loc[cell]
    assert row["recall@1 mean"] == pytest.approx(63.0)
    assert row["recall@1 std"] == pytest.approx(np.sqrt((9 + 1 + 16) / 2))
    half = 4.302653 * np.sqrt(13 / 3)  # Student's t at 97.5% with two degrees of freedom
    assert row["recall@1 low"] == pytest.approx(63 - half, abs=1e-4)
    assert row["recall@1 high"] == pytest.approx(63 + half, abs=1e-4)
    assert row["recall@1 n"] == 3
    shown = rows(table)[list(table.frame["cell"]).index(cell)]
    at = [c.key for c in table.columns].index("recall@1")
    assert shown[at].text == "63.0 ± 3.6"
    assert shown[at].small == "[54.0, 72.0]"


def test_published_beside_reproduced(synthetic, loaded):
    study = synthetic.plane_study()
    easy = next(cell.name for cell in study.cells() if cell.positives == "easy")
    scores = [0.60, 0.61, 0.62, 0.63, 0.64, 0.65, 0.66, 0.67]
    table = reference_values_beside(loaded(study, scoring({easy: scores}, "cell", key="seen/fine/recall@1")))
    assert len(table.frame) == 12
    assert (table.frame["state"] == "reproduced").all()
    row = table.frame.query("cell == @easy and metric == 'R@1' and labels == 'digits, train classes'").iloc[0]
    assert row["published"] == 65.8
    assert row["reproduced mean"] == pytest.approx(63.5)
    assert row["reproduced std"] == pytest.approx(np.sqrt(6))
    assert row["difference"] == pytest.approx(-2.3)


def test_the_step_at_which_cells_stop_is_shown(synthetic, loaded, built):
    """The best point of the best tuning trial's curve, beside the scores of its ends."""
    study = synthetic.small(search=SearchSection(sampler="grid", trials=2, stop="best"))

    def alter(frame):
        for place, values in enumerate([[0.1, 0.5, 0.4], [0.2, 0.7, 0.3]]):
            of_trial = (frame["phase"] == "tune") & (frame["number"] == place)
            points = [[100 * step, {"validation/fine/recall@1": value}] for step, value in enumerate(values)]
            frame.loc[of_trial, "curve"], frame.loc[of_trial, "objective"] = json.dumps(points), max(values)
        return frame

    table = best_settings(loaded(study, alter))
    found = table.frame[["stop", "validation", "untrained", "at the end"]].round(6).drop_duplicates()
    assert found.to_numpy().tolist() == [[100, 70, 20, 30]]
    assert "search.stop: best" in table.caption
    assert [column.label for column in table.columns][-5:] == ["Validation", "Stop", "Untrained", "All steps", "Trials"]
    page = built(study, alter)
    assert "stopped at the best step" in page
    drawing = next(TrainingLog().content(loaded(study, alter)))
    assert "Each cell ends where validation scores were best." in drawing.caption
    assert "stop" not in best_settings(loaded(synthetic.small())).frame


def test_best_settings_are_those_of_the_best_validation_score(synthetic, loaded):
    study = synthetic.study()
    cell = study.cells()[0].name

    def alter(frame):
        rows = frame.index[(frame["cell"] == cell) & (frame["phase"] == "tune")]
        frame.loc[rows, "objective"] = [0.1, 0.2, 0.9, 0.3, 0.4]
        frame.loc[rows[2], "settings"] = json.dumps({"loss.margin": 0.123, "loss.swap": True})
        return frame

    table = best_settings(loaded(study, alter))
    row = table.frame.set_index("cell").loc[cell]
    assert row["loss.margin"] == 0.123
    assert row["validation"] == pytest.approx(90.0)
    assert row["trials"] == 5
    assert "loss.swap" not in table.frame  # the study fixed it


def test_failed_and_missing_are_counted(synthetic, loaded):
    study = synthetic.study()
    first, second = (cell.name for cell in study.cells()[:2])

    def alter(frame):
        failed = (frame["cell"] == first) & (frame["phase"] == "confirm") & (frame["seed"] == 1)
        frame.loc[failed, ["status", "error"]] = ["failed", "Traceback ...\n  loss\nTrainingError: loss is nan at 7"]
        return frame[~((frame["cell"] == second) & (frame["phase"] == "confirm"))]

    results = loaded(study, alter)
    assert results.missing() == {first: 1, second: 3}
    failed = results.failures
    assert list(failed["headline"]) == ["TrainingError: loss is nan at 7"]
    table = main_results(results)[0]
    assert list(table.frame["state"][:3]) == ["2 of 3, 1 failed", "0 of 3", "3 of 3"]
    assert table.columns[-1].key == "state"
    cells = dict(zip(table.frame["cell"], rows(table), strict=True))
    assert cells[second][-2].small == "no seed finished"


def test_a_seed_that_ran_twice_counts_once(synthetic, loaded):
    study = synthetic.study()
    results = loaded(study, lambda frame: pd.concat([frame, frame[frame["phase"] == "confirm"]]))
    assert len(results.values(study.cells()[0].name, "test/fine/recall@1")) == 3


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (percent(62.65), "62.6"),
        (percent(-0.04, signed=True), "0.0"),
        (percent(-3.25, signed=True), "\N{MINUS SIGN}3.2"),
        (percent(float("nan")), "\N{EN DASH}"),
        (duration(4.25), "4.2 s"),
        (duration(75), "1 min 15 s"),
        (duration(8040), "2 h 14 min"),
        (number(0.00012345), "0.0001234"),
        (number(12345.0), "12,345"),
        (number(10067.3), "10,067"),
        (number("squared"), "squared"),
        (p_value(0.0004), "< 0.001"),
        (rate(0.2), "20%"),
        (rate(0.005), "0.5%"),
        (rate(0.1 + 0.2), "30%"),
        (rate(1 / 3), "33.3%"),
    ],
)
def test_how_numbers_are_written(written, expected):
    assert written == expected


def test_no_interval_of_a_score_leaves_the_possible_values(synthetic, loaded):
    """Three seeds near 100 (or 0) percent have a Student interval that goes beyond."""
    study = synthetic.small(noise=synthetic.noise([0.0, 0.2, 0.4]))
    cells = [cell.name for cell in study.cells()]
    results = loaded(study, scoring({cells[0]: [0.85, 0.98, 1.0], cells[1]: [0.0, 0.01, 0.05]}, "cell"))
    frame = main_results(results)[0].frame
    assert 90.0 < frame["recall@1 high"].max() <= 100.0
    assert 0.0 <= frame["recall@1 low"].min() < 1.0
    assert winners(results).frame["score high"].max() <= 100.0
    made = points(results)
    assert made["high"].max() <= 100.0
    assert made["low"].min() >= 0.0
