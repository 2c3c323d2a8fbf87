"""The site's page of results is what the published studies say."""

import re
from pathlib import Path

import pytest

from dml.config import load_study
from dml.report.loading import as_it_ran
from dml.report.overview import FIGURES
from dml.snapshots import snapshots

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCS, STUDIES = ROOT / "docs", ROOT / "pipelines/studies"
PUBLISHED = sorted(snapshot.path.name for snapshot in snapshots(DOCS / "results"))


def test_each_study_has_its_command_and_its_figure(results_page):
    for name in PUBLISHED:
        assert (DOCS / FIGURES / f"{name}.png").is_file()
        assert f"make repro STUDY={name}" in results_page
    for image in re.findall(r"!\[[^]]*\]\(([^)]+)\)", results_page):
        assert (DOCS / image).is_file(), image
    assert {path.stem for path in (DOCS / FIGURES).glob("*.png")} == set(PUBLISHED)
    order = [results_page.index(part) for part in ("## What to do", "**In total**", "## The papers' claims")]
    assert order == sorted(order)


def test_a_trial_that_several_studies_share_counts_once(results_page):
    tables = {snapshot.path.name: snapshot.trials() for snapshot in snapshots(DOCS / "results")}
    keys = [k for name, t in tables.items() for k in as_it_ran(load_study(STUDIES / f"{name}.yaml"), t)[1]["key"]]
    assert len(keys) > len(set(keys))
    assert f"{len(set(keys)):,} trials, " in results_page
