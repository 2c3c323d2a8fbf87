"""Publish a finished study: its snapshot, key figure and docs/results.md; prints what changed since the last time."""

import subprocess

from dml.config import Study
from dml.pipeline.folders import PUBLISHED, RESULTS, STORE, data_root
from dml.pipeline.overview import write_figures, write_overview
from dml.report.recording import figure_arrays
from dml.snapshots import check_ran, publish


def run(study: Study) -> None:
    check_ran(study, RESULTS / study.name)
    code = ["git", "status", "--porcelain", "--", "dml", "pipelines"]
    changed = subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()
    if changed:
        raise ValueError(f"commit these files first: a snapshot names the code that it comes from\n{changed}")
    arrays = figure_arrays(study, RESULTS / study.name, STORE, data_root(study))
    found = publish(study, RESULTS / study.name, PUBLISHED, arrays)
    written = [PUBLISHED / study.name, *write_figures([study], RESULTS), write_overview()]
    print("\n".join([f"{', '.join(map(str, written))}: written", *found]))
