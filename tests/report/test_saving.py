"""Saved figures: the drawing that was made, and the numbers behind each."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.assets import Assets, SavedDownload, SavedDrawing
from dml.report.page.blocks import Drawing

pytestmark = pytest.mark.slow


@pytest.fixture
def figure():
    """Two lines with a legend, one with a band."""
    with figures.applied():
        made = Figure(figsize=(4, 3))
        axes = made.subplots()
        x = np.linspace(0, 1, 7)
        axes.fill_between(x, x - 0.1, x + 0.2, color=figures.BLUE, alpha=0.2)
        axes.plot(x, x, color=figures.BLUE, label="first")
        axes.plot(x, 1 - x**2, "--", color=figures.GREEN)
        axes.axhline(0.5, color=figures.MUTED)
        axes.set_title("A panel: one; two")
        axes.text(1, 0, "second", color=figures.GREEN)
        yield made


def test_every_figure_of_the_site_has_a_file_of_its_numbers(site):
    for page in site.report.rglob("*.html"):
        for figure in re.findall(r"<figure>.*?</figure>", page.read_text(encoding="utf-8"), re.S):
            found = re.search(r'href="([^"]+\.csv)" download', figure)
            assert found, figure
            frame = pd.read_csv(page.parent / found[1])
            assert len(frame) > 1, found[1]


def test_a_figure_that_cannot_be_drawn_leaves_its_numbers_and_the_others(tmp_path, capsys):
    frame = pd.DataFrame({"x": [1.0]})
    broken = Figure()
    broken.draw = None
    saved = Assets(tmp_path, "mine").save([Drawing(n, f, frame, "", "") for n, f in (("a", broken), ("b", Figure()))])
    assert [type(block) for block in saved] == [SavedDownload, SavedDrawing]
    assert "TypeError" in saved[0].text
    assert (tmp_path / saved[0].href).read_text() == "x\n1\n"
    assert "mine" in capsys.readouterr().err
