"""Scores by number of clusters: how they are named, ordered and drawn."""

from dataclasses import replace

import pytest
from synthetic import of_study

from dml.report.page.blocks import Drawing
from dml.report.sections.clusters import Clusters

NUMBERS = (30, 100, 4)
SCORES = {"nmi": 0.4, "nmi@4": 0.3, "nmi@30": 0.6, "nmi@100": 0.5}


@pytest.fixture
def measured(synthetic, loaded):
    """Results with NMI for several numbers of clusters; the score falls by 0.01 with each seed."""

    def alter(frame):
        confirmed = frame["phase"] == "confirm"
        for metric, value in SCORES.items():
            frame.loc[confirmed, f"test/fine/{metric}"] = value - 0.01 * frame.loc[confirmed, "seed"]
        return frame

    results = loaded(synthetic.small(), alter)
    evaluation = replace(results.study.evaluation, metrics=["recall@1", "nmi"], clusters=list(NUMBERS))
    return of_study(results, evaluation=evaluation)


def test_numbers_of_clusters_follow_their_score_in_order(measured):
    assert [key.split("/")[2] for key in measured.score_keys] == ["recall@1", "nmi", "nmi@4", "nmi@30", "nmi@100"]


def test_the_figure_has_a_line_per_method(measured):
    assert Clusters().applies(measured)
    (drawing,) = [block for block in Clusters().content(measured) if isinstance(block, Drawing)]
    (axes,) = drawing.figure.axes
    lines = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert len(lines) == 2
    assert lines[0].get_xdata().tolist() == [4, 30, 100]
    assert lines[0].get_ydata() == pytest.approx([29.0, 59.0, 49.0])
    assert axes.get_xscale() == "log"
    assert axes.get_title() == "Test classes, fine labels"


def test_a_study_without_numbers_of_clusters_has_no_such_section(synthetic, loaded):
    assert not Clusters().applies(loaded(synthetic.small()))
