"""Studies of one method, of very many, of one seed and of many datasets: what their pages show and leave out."""

import re

import pandas as pd
import pytest
import shapes

from dml.report.figures import best

pytestmark = pytest.mark.slow

STUDY, SHARED = 880_000, 1_120_000  # bytes, together 2 MB: of the default study's files, and of those of every report


def _size(folder, of):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and of(path))


def test_the_report_of_the_default_study_is_below_two_megabytes(built, site, tmp_path):
    built(shapes.quickstart())
    assert _size(tmp_path / "report", lambda path: "quickstart" in str(path.relative_to(tmp_path))) < STUDY
    shared = _size(site.report, lambda path: not re.search("digits|planes|empty", str(path.relative_to(site.report))))
    assert shared < SHARED


def test_one_seed_draws_no_intervals_and_says_so(synthetic, built):
    page = built(synthetic.small(seeds=[0], evaluation=synthetic.evaluation(["recall@1"], ["test"])))
    text = re.sub("<[^>]*>", "", page)
    assert "one seed, so no intervals are drawn" in text
    assert "one seed, so without a standard deviation and an interval" in text
    assert "n = 1" in page
    assert "± nan" not in page
    assert 'class="strip' not in page


def test_one_method_has_a_page(built):
    page = built(shapes.one_method())
    assert "The only method with results." in page
    assert "Runner-up" not in page


def test_of_very_many_methods_only_the_best_are_coloured(synthetic, built, tmp_path, monkeypatch):
    monkeypatch.setattr(best, "MANY", 5)
    monkeypatch.setattr(best, "BEST", 3)
    study = synthetic.study(name="many", seeds=[0, 1])
    page = built(study)
    assert "Coloured: the best 3 of 8 methods by their mean score; grey: the other 5." in page
    frame = pd.read_csv(tmp_path / "report" / "data" / "many" / "figure-best-digits-uniform.csv")
    assert len(frame) == len(study.cells())  # the file has all of them
    text = (tmp_path / "report" / "figures" / "many" / "best-digits-uniform.svg").read_text()
    means = frame.groupby(["loss", "positives", "negatives"])["score mean"].mean().sort_values(ascending=False)
    for place, (loss, positives, negatives) in enumerate(means.index):
        assert (f"{loss}, {positives} positives, {negatives} negatives" in text) == (place < 3)


def test_the_figures_of_many_datasets_are_folded(built):
    page = built(shapes.many_datasets(5))
    assert page.count("<summary>MAP@R, on collection") + page.count("<summary>R@1, on collection") == 2
    assert 'alt="R@1, test classes' in page
    section = "What each choice is worth"  # the first dataset is not folded
    assert [page.count(f"<summary>{section}: on collection-{i:02d}") for i in (1, 2, 5)] == [0, 1, 1]
    assert "5 datasets" in page
