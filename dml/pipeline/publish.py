"""Publish a finished study: snapshot, key figure and the table of the findings; prints what changed since last time."""

import subprocess
from pathlib import Path

from dml.config import Study
from dml.pipeline.folders import RESULTS, SNAPSHOTS, STORE, data_root
from dml.pipeline.overview import FINDINGS, write_figures, write_table
from dml.pipeline.versions import own_code
from dml.report.recording import figure_arrays
from dml.report.regimes import START
from dml.snapshots import Snapshot, check_ran, publish
from dml.sweep.progress.results import CODE


def run(study: Study) -> None:
    check_ran(study, RESULTS / study.name)
    if changed := uncommitted():
        raise ValueError(f"commit these files first: a snapshot names the code that it comes from\n{changed}")
    before = Snapshot(SNAPSHOTS / study.name).figures()
    arrays = figure_arrays(study, RESULTS / study.name, STORE, data_root(study), before)
    found = publish(study, RESULTS / study.name, SNAPSHOTS, arrays)
    written = [SNAPSHOTS / study.name]
    if FINDINGS.is_file() and START in FINDINGS.read_text(encoding="utf-8"):  # only in a clone
        written += [*write_figures([study], RESULTS), write_table()]
    print("\n".join([f"{', '.join(map(str, written))}: written", *found]))


def uncommitted() -> str:
    """The files of code and studies that differ from the last commit, a line each.

    Raises
    ------
    ValueError : the project is not in a git repository.
    """
    own = sorted({path.parts[0] for path in own_code(Path())})  # whole packages: files may be deleted there
    done = subprocess.run(["git", "status", "--porcelain", "--", *CODE, *own], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(
            "a snapshot names the commit that it comes from, and this project is not in a git repository: git init, "
            f"then commit ({done.stderr.strip()})"
        )
    return done.stdout.strip()
