"""Studies of one method, of very many, of one seed and of many datasets: what their pages show and leave out."""

import re

import pandas as pd
import pytest
import shapes

from dml.report import best_methods

pytestmark = pytest.mark.slow

STUDY, SHARED = 1_000_000, 1_500_000  # bytes: of the default study's files, and of those of every report


def _size(folder, of):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and of(path))


def test_the_report_of_the_default_study_is_below_three_megabytes(built, site, tmp_path):
    built(shapes.quickstart())
    assert _size(tmp_path / "report", lambda path: "quickstart" in str(path.relative_to(tmp_path))) < STUDY
    shared = _size(site.report, lambda path: not re.search("digits|planes|empty", str(path.relative_to(site.report))))
    assert shared < SHARED


def test_of_very_many_methods_only_the_best_are_coloured(synthetic, built, tmp_path, monkeypatch):
    monkeypatch.setattr(best_methods, "MANY", 5)
    monkeypatch.setattr(best_methods, "BEST", 3)
    study = synthetic.study(name="many", seeds=[0, 1])
    page = built(study)
    assert "Coloured: the best 3 of 8 methods by their mean score; grey: the other 5." in page
    frame = pd.read_csv(tmp_path / "report" / "data" / "many" / "figure-best-digits-uniform.csv")
    assert len(frame) == len(study.cells())  # the file has all of them
    text = (tmp_path / "report" / "figures" / "many" / "best-digits-uniform.svg").read_text()
    means = frame.groupby(["loss", "positives", "negatives"])["score mean"].mean().sort_values(ascending=False)
    for place, (loss, positives, negatives) in enumerate(means.index):
        assert (f"{loss}, {positives} positives, {negatives} negatives" in text) == (place < 3)
