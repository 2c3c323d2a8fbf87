"""Saved figures: the drawing that was made, and the numbers behind each."""

import re

import pandas as pd
import pytest

pytestmark = pytest.mark.slow


def test_every_figure_of_the_site_has_a_file_of_its_numbers(site):
    for page in site.report.rglob("*.html"):
        for figure in re.findall(r"<figure>.*?</figure>", page.read_text(encoding="utf-8"), re.S):
            found = re.search(r'href="([^"]+\.csv)" download', figure)
            assert found, figure
            frame = pd.read_csv(page.parent / found[1])
            assert len(frame) > 1, found[1]
