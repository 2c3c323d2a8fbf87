"""The figures: unique labels at the ticks, colours, and files in a light and a dark version."""

import itertools

import numpy as np
import pytest
from matplotlib.ticker import MaxNLocator
from synthetic import flat

from dml import discovery
from dml.report import assembly
from dml.report.assembly import PACKAGE
from dml.report.figures import PercentTicks
from dml.report.page.blocks import Drawing

pytestmark = pytest.mark.slow

STARTS = (-5.0, 0.0, 0.1, 1.0, 17.3, 50.0, 99.0, 99.95)
SPANS = (0.013, 0.04, 0.1, 0.35, 1.0, 2.0, 3.0, 7.0, 12.0, 30.0, 100.0)


def _value(label):
    assert label.endswith("%")
    return float(label[:-1].replace("\N{MINUS SIGN}", "-"))


@pytest.mark.parametrize("one", [1.0, 100.0])
@pytest.mark.parametrize("ticks", [3, 4, 5, 9])
def test_labels_are_unique_and_say_the_value(one, ticks):
    for start, span in itertools.product(STARTS, SPANS):
        values = MaxNLocator(ticks).tick_values(start * one / 100, (start + span) * one / 100)
        labels = PercentTicks(one).format_ticks(values)
        assert len(set(labels)) == len(values), labels
        step = np.diff(values).min()
        assert [_value(label) * one / 100 for label in labels] == pytest.approx(values, abs=0.02 * step)


def test_a_figure_shows_the_numbers_of_its_table(synthetic, loaded):
    seen, results = set(), loaded(synthetic.study())
    found = [discovery.build(PACKAGE, name) for name in assembly.STUDY]
    blocks = flat(block for section in found if section.applies(results) for block in section.content(results))
    for drawing in (block for block in blocks if isinstance(block, Drawing) and block.figure is not None):
        lines = [line for axes in drawing.figure.axes for line in axes.lines]
        drawn = np.concatenate([np.asarray(data, float) for line in lines for data in line.get_data()])
        (column,) = {"score mean", "score"} & set(drawing.data)
        for value in drawing.data[column]:
            assert np.isclose(drawn, value, rtol=1e-9).any(), (drawing.name, value)
        seen.add(drawing.name.split("-")[0])
    assert seen >= {"scores", "curves"}
