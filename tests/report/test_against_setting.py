"""What the report shows of settings that vary: figures, labels, columns."""

import numpy as np
import pytest
from synthetic import KEY

from dml.report.results import Results
from dml.report.sections import against_setting as drawn
from dml.report.sections._rows import score_frame
from dml.report.sections.all_results import main_results

STUDY = """
title: Varied
datasets: [{name: digits, train_on: coarse}]
losses: [triplet, histogram]
positives: [random, easy]
negatives: [random]
grid:
  training.batch: [{per_class: 4, classes: 2}, {per_class: 8, classes: 2}, {per_class: 16, classes: 2}]
  loss.bins: [11, 51]
seeds: [0, 1, 2]
search: {sampler: fixed}
evaluation: {metrics: [recall@1]}
"""
SIZE = "training.batch.per_class"


@pytest.fixture
def results(study_of, loaded) -> Results:
    study = study_of(STUDY)

    def by_size(frame):
        for name, cell in {cell.name: cell for cell in study.cells()}.items():
            rows = frame["cell"] == name
            frame.loc[rows, KEY] = 0.01 * cell.grid_point[SIZE] + 0.001 * frame.loc[rows, "seed"]
        return frame

    return loaded(study, by_size)


def _figure(results, axis, key=KEY):
    frame = score_frame(results, results.cells_of("digits", "uniform", 0.0), [key])
    return drawn.against_setting(results, frame, axis)


def test_tables_have_a_column_for_each_setting(results):
    (table,) = main_results(results)
    labels = [column.label for column in table.columns]
    assert labels[:4] == ["Loss", "Positives", "Per class", "Bins"]
    assert set(table.frame["loss.bins"]) == {"", "11", "51"}


def test_a_figure_has_a_line_for_each_method_and_other_setting(results):
    (axes,) = _figure(results, "training.batch").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["4", "8", "16"]
    assert axes.get_xlabel() == "per class"
    lines = {line.get_label(): line for line in axes.lines}
    assert len(lines) == 6
    assert {"triplet, random positives", "histogram, easy positives, bins 51"} <= set(lines)
    for line in lines.values():
        np.testing.assert_array_equal(line.get_xdata(), [0, 1, 2])
        np.testing.assert_allclose(line.get_ydata(), [4.1, 8.1, 16.1])
    assert _figure(results, "loss.bins", "test/fine/nmi") is None
