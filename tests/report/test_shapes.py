"""Studies of one method, of very many, of one seed and of many datasets: what their pages show and leave out."""

import re

import pytest
import shapes
from synthetic import KEY

from dml.report import best_methods
from dml.report.sections.all_results import against_noise

pytestmark = pytest.mark.slow

STUDY, SHARED = 1_000_000, 1_500_000  # bytes: of the default study's files, and of those of every report


def _size(folder, of):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and of(path))


def test_the_report_of_the_default_study_is_below_three_megabytes(built, site, tmp_path):
    built(shapes.quickstart())
    assert _size(tmp_path / "report", lambda path: "quickstart" in str(path.relative_to(tmp_path))) < STUDY
    shared = _size(site.report, lambda path: not re.search("digits|planes|empty", str(path.relative_to(site.report))))
    assert shared < SHARED


def test_of_very_many_methods_figures_draw_the_best(synthetic, loaded, monkeypatch):
    monkeypatch.setattr(best_methods, "MANY", 5)
    monkeypatch.setattr(best_methods, "BEST", 3)
    results = loaded(synthetic.study(seeds=[0, 1]))
    figure, data, added = against_noise(results, "digits", "uniform", KEY)
    assert "the best 3 methods" in added
    means = {}
    for name, method in results.methods.items():
        means.setdefault(method, []).extend(results.values(name, KEY))
    best = sorted(means, key=lambda method: -sum(means[method]))[:3]
    assert set(data["cell"]) == {name for name, method in results.methods.items() if method in best}
    assert sum(len(axes.lines) for axes in figure.axes) == 3
