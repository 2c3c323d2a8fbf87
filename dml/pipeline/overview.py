"""The site's page of results and its figures, and the table of the findings, from the snapshots."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dml.config import Study, load_study
from dml.files import write_text
from dml.pipeline.folders import SNAPSHOTS, STORE, STUDIES
from dml.report.overview import FIGURES, overview
from dml.report.regimes import with_regimes
from dml.report.site import build
from dml.snapshots import snapshots

FINDINGS = Path("docs/findings.md")


def snapshot_studies() -> list[Study]:
    """The studies that have a snapshot."""
    return [load_study(STUDIES / f"{snapshot.path.name}.yaml") for snapshot in snapshots(SNAPSHOTS)]


def results_page() -> str:
    """The page `results.md` of the site, as Markdown."""
    return overview(snapshot_studies(), SNAPSHOTS, STUDIES)


def write_table() -> Path:
    """Write the page's first table into the findings."""
    write_text(FINDINGS, with_regimes(FINDINGS.read_text(encoding="utf-8"), results_page()))
    return FINDINGS


def write_figures(studies: Sequence[Study], results: Path) -> list[Path]:
    """Draw the figures that the page shows of some studies, from `results` or else from their snapshots."""
    folder = SNAPSHOTS.parent / FIGURES
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with tempfile.TemporaryDirectory() as site:
        drawn = build(studies, results, STORE, Path(site), SNAPSHOTS).parent / "figures"
        for study in studies:
            written.append(shutil.copyfile(drawn / study.name / "key.png", folder / f"{study.name}.png"))
    return written
