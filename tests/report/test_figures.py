"""The figures: unique labels at the ticks, colours, and files in a light and a dark version."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from synthetic import flat

from dml import discovery
from dml.report import contents
from dml.report.assembly import PACKAGE
from dml.report.figures import style
from dml.report.figures.against_noise import against_noise
from dml.report.figures.axes import PercentTicks, label_ends, place
from dml.report.figures.methods import look
from dml.report.figures.saving import save
from dml.report.page.blocks import Drawing
from dml.report.sections._rows import score_frame

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


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0, 0.2, 0.4], ["0%", "20%", "40%"]),
        ([0.015, 0.02, 0.025], ["1.5%", "2.0%", "2.5%"]),
        ([0.0, 1 / 3], ["0%", "33%"]),
        ([-0.1, 0.0], ["\N{MINUS SIGN}10%", "0%"]),
        ([-1e-18, 0.1], ["0%", "10%"]),
        ([0.3], ["30%"]),
        ([], []),
    ],
)
def test_labels_are_as_short_as_they_can_be(values, labels):
    assert PercentTicks(1).format_ticks(values) == labels


def _drawings(results):
    """Those of the study's page."""
    found = [discovery.build(PACKAGE, name) for name in contents.STUDY]
    blocks = flat(block for section in found if section.applies(results) for block in section.content(results))
    return [block for block in blocks if isinstance(block, Drawing) and block.figure is not None]


@pytest.mark.parametrize("spread", [0.004, 0.02, 0.3])
def test_no_axis_repeats_a_label(synthetic, loaded, spread):
    """Scores within a fraction of a percent, and noise rates below one percent."""

    def alter(frame):
        scores = [column for column in frame.columns if "/" in column] + ["objective"]
        frame[scores] = 0.013 + spread * frame[scores]
        return frame

    study = synthetic.small(noise=synthetic.noise([0.0, 0.002, 0.004], "uniform", "subset"))
    results = loaded(study, alter)
    seen = 0
    for drawing in _drawings(results):
        drawing.figure.draw_without_rendering()
        for axes in drawing.figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                labels = [label.get_text() for label in axis.get_ticklabels() if label.get_text()]
                assert len(set(labels)) == len(labels), (drawing.name, labels)
                seen += len(labels) > 1
    assert seen > 10


def test_a_figure_shows_the_numbers_of_its_table(synthetic, loaded):
    seen = set()
    for drawing in _drawings(loaded(synthetic.study())):
        lines = [line for axes in drawing.figure.axes for line in axes.lines]
        drawn = np.concatenate([np.asarray(data, float) for line in lines for data in line.get_data()])
        (column,) = {"score mean", "effect", "share", "score", "expected best"} & set(drawing.data)
        for value in drawing.data[column] * (100 if "shares" in drawing.name else 1):
            assert np.isclose(drawn, value, rtol=1e-9).any(), (drawing.name, value)
        seen.add(drawing.name.split("-")[0])
    assert seen >= {"scores", "effects", "shares", "search", "curves", "tuning"}


def test_a_choice_has_the_same_look_in_every_figure(synthetic, loaded):
    results = loaded(synthetic.study())
    looks = {}
    for method in results.methods.values():
        looks.setdefault(method.positives, set()).add(look(results, method))
    assert looks == {"random": {style.LOOKS[0]}, "easy": {style.LOOKS[1]}}
    assert len({colour for colour, _ in style.LOOKS}) == len({marker for _, marker in style.LOOKS}) == len(style.LOOKS)


def test_the_dark_version_exchanges_every_colour(tmp_path):
    with style.applied():
        figure = Figure(figsize=(2, 2))
        axes = figure.subplots()
        for colour in style.DARK:
            axes.plot([0, 1], color=colour)
        assert save(figure, tmp_path / "figure", png=True) == (144, 144)
    light, _, rules = (tmp_path / "figure.svg").read_text().partition("@media (prefers-color-scheme:dark)")
    rules, _, drawing = rules.partition("</style>")
    for colour, dark in style.DARK.items():
        assert f"stroke: {colour}" in drawing
        assert f'[style*="stroke: {colour}"]{{stroke:{dark}!important}}' in rules
    assert not any(dark in light + drawing for dark in style.DARK.values())
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_no_axis_of_scores_goes_beyond_what_a_score_can_be(synthetic, loaded):
    def perfect(frame):
        return frame.assign(**{"test/fine/recall@1": 1.0 - 2 * frame["rate"]})

    results, key = loaded(synthetic.small(), perfect), "test/fine/recall@1"
    frame = score_frame(results, results.cells_of("digits", "uniform"), [key])
    figure = against_noise(results, frame, "digits", "uniform", key)
    figure.canvas.draw()
    assert all(100 <= axes.get_ylim()[1] <= 101 for axes in figure.axes)


@pytest.mark.parametrize("ends", [[0.0], [0.0, 0.0, 0.01], [0.0, 0.02, 0.5, 1.0], [1.0, 1.0], [0.0] * 9])
def test_labels_at_the_ends_of_lines_lie_between_the_axis_and_the_top(ends):
    with style.applied():
        axes = (figure := Figure(figsize=(3.8, 2.1))).subplots()  # as small as panels are
        axes.set_ylim(0, 1)
        label_ends(axes, [(y, "easy", style.BLUE) for y in ends], 1.0)
        figure.draw_without_rendering()
        boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert boxes[0].y0 >= axes.get_window_extent().y0
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert (boxes[-1].y0 + boxes[-1].y1) / 2 <= axes.get_window_extent().y1 + 1e-6


def test_a_grid_of_panels_is_placed_by_inches():
    figure = Figure(figsize=(10, 5))
    grid = figure.subplots(2, 3)
    place(figure, (2, 3), left=1.0, right=0.5, top=0.4, bottom=0.6, gaps=(0.25, 0.5))
    first, last = (axes.get_position() for axes in (grid[0, 0], grid[1, 2]))
    np.testing.assert_allclose([first.x0, first.y1, last.x1, last.y0], [0.1, 0.92, 0.95, 0.12])
    gaps = 10 * (grid[0, 1].get_position().x0 - first.x1), 5 * (first.y0 - grid[1, 0].get_position().y1)
    np.testing.assert_allclose(gaps, (0.25, 0.5))
