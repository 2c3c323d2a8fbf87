"""Write docs/results.md from the published snapshots, after a study file or the code of the page has changed."""

import os
from pathlib import Path

from _stage import PUBLISHED, STUDIES

from dml.config import load_study
from dml.files import write_text
from dml.report.overview import overview
from dml.snapshots import snapshots


def write_overview() -> Path:
    """Write the page and return its path."""
    studies = [load_study(STUDIES / f"{snapshot.path.name}.yaml") for snapshot in snapshots(PUBLISHED)]
    path = PUBLISHED.parent / "results.md"
    write_text(path, overview(studies, PUBLISHED, STUDIES))
    return path


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[1])
    print(f"{write_overview()}: written")
