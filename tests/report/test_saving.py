"""Saved figures: the drawing that was made, and the numbers behind each."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from dml.report import figures
from dml.report.page import assets
from dml.report.page.assets import save

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


@pytest.mark.parametrize("width", [4.0, 4.0046, np.nextafter(8.8, 0)])
def test_a_png_has_the_pixels_that_matplotlib_draws_in_few_colours(width, figure, tmp_path):
    """At some widths 130 dots an inch are no whole number of pixels: the rows must not shift against each other."""
    figure.set_size_inches(width, 3)
    with figures.applied():
        save(figure, tmp_path / "f", png=True)
        figure.savefig(tmp_path / "full.png", dpi=assets.DPI)
    small, full = (Image.open(tmp_path / f"{name}.png") for name in ("f", "full"))
    assert small.mode == "P"
    assert small.size == full.size
    apart = np.abs(np.asarray(small.convert("RGB"), int) - np.asarray(full.convert("RGB"), int))
    assert np.mean(apart) < 2


def test_every_figure_of_the_site_has_a_file_of_its_numbers(site):
    for page in site.report.rglob("*.html"):
        for figure in re.findall(r"<figure>.*?</figure>", page.read_text(encoding="utf-8"), re.S):
            found = re.search(r'href="([^"]+\.csv)" download', figure)
            assert found, figure
            frame = pd.read_csv(page.parent / found[1])
            assert len(frame) > 1, found[1]
