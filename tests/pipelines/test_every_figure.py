"""The study `every-figure`: each kind of figure, and claims that its networks of a few steps cannot decide."""

import csv
import re
import shutil
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.timeout(1200)]

STUDY = Path(__file__).parents[1] / "studies/every-figure.yaml"
SECTIONS = (
    *("winners", "settings-varied", "planes", "claims"),
    *("results", "provenance"),
)


@pytest.fixture(scope="module")
def page(shared_project):
    """The finished study, and the text of its page."""
    project = shared_project
    project.add_papers()
    shutil.copy(STUDY, project.root / "pipelines/studies")
    assert project.stage("choose", "every-figure").code == 0
    project.stages("resolve download pack split corrupt sweep", "every-figure")
    done = project.stage("report")
    assert done.code == 0, done.text
    project.page = (project.root / "report/studies/every-figure.html").read_text(encoding="utf-8")
    return project


def test_each_kind_of_figure_is_on_the_page(page):
    anchors = re.findall(r'<section aria-labelledby="([\w-]+)"', page.page)
    assert set(SECTIONS) <= set(anchors), anchors
    for figure in re.findall(r'src="\.\./(figures/[^"]+)"', page.page):
        assert (page.root / "report" / figure).stat().st_size > 1000, figure
    names = {path.name for path in (page.root / "report/figures/every-figure").iterdir()}
    for kind in ("key", "setting-training.embedding_size"):
        assert any(name.startswith(kind) for name in names), (kind, sorted(names))


def test_networks_below_pixels_decide_no_claim(page):
    with open(page.root / "report/data/_claims/claims.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    own = {row["claim"]: row for row in rows if row["group"].startswith("Study")}
    dimensions = own["Eight dimensions separate unseen digits better than two."]
    assert dimensions["verdict"] == "not tested"
    assert "below the baseline (R@1, training classes, held-out images" in dimensions["finding"]
    assert "not tuned" in dimensions["finding"]


def test_the_page_of_claims_lists_all_ninety(page):
    text = (page.root / "report/claims.html").read_text(encoding="utf-8")
    with open(page.root / "report/data/_claims/claims.csv", encoding="utf-8", newline="") as file:
        ids = {row["id"] for row in csv.DictReader(file)} - {""}
    assert len(ids) == 90
    assert all(f'id="{name}"' in text for name in ids)
