"""Publish a finished study: snapshot, key figure and the table of the findings."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dml.config import Study, load_study
from dml.files import write_text
from dml.pipeline.folders import RESULTS, SNAPSHOTS, STORE, STUDIES
from dml.pipeline.versions import project_modules
from dml.report.assembly import figure_arrays
from dml.report.overview import FIGURES, overview
from dml.report.regimes import START, with_regimes
from dml.report.site import build
from dml.snapshots import Snapshot, check_ran, publish, snapshots
from dml.sweep.progress.results import CODE

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
    with tempfile.TemporaryDirectory() as site:
        drawn = build(studies, results, STORE, Path(site), SNAPSHOTS).parent / "figures"
        return [shutil.copyfile(drawn / one.name / "key.png", folder / f"{one.name}.png") for one in studies]


def run(study: Study) -> None:
    check_ran(study, RESULTS / study.name)
    if changed := uncommitted():
        raise ValueError(f"commit these files first: a snapshot names the code that it comes from\n{changed}")
    before = Snapshot(SNAPSHOTS / study.name).figures()
    arrays = figure_arrays(study, RESULTS / study.name, STORE, before)
    publish(study, RESULTS / study.name, SNAPSHOTS, arrays)
    written = [SNAPSHOTS / study.name]
    if FINDINGS.is_file() and START in FINDINGS.read_text(encoding="utf-8"):  # only in a clone
        written += [*write_figures([study], RESULTS), write_table()]
    print(f"{', '.join(map(str, written))}: written")


def uncommitted() -> str:
    """The files of code and studies that differ from the last commit, a line each."""
    packages = sorted({path.parts[0] for path in project_modules(Path())})  # whole packages: files may be deleted there
    done = subprocess.run(["git", "status", "--porcelain", "--", *CODE, *packages], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(
            "a snapshot names the commit that it comes from, and this project is not in a git repository: git init, "
            f"then commit ({done.stderr.strip()})"
        )
    return done.stdout.strip()
