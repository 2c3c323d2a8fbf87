"""Publish a finished study: its snapshot, key figure and docs/results.md; prints what changed since the last time."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from _stage import PUBLISHED, RESULTS, STORE, STUDIES, data_root, run

from dml.config import Study, load_study
from dml.files import write_text
from dml.report.overview import FIGURES, overview
from dml.report.recording import figure_arrays
from dml.report.site import build
from dml.snapshots import publish, snapshots


def publish_study(study: Study) -> None:
    code = ["git", "status", "--porcelain", "--", "dml", "pipelines"]
    changed = subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()
    if changed:
        raise ValueError(f"commit these files first: a snapshot names the code that it comes from\n{changed}")
    arrays = figure_arrays(study, RESULTS / study.name, STORE, data_root(study))
    found = publish(study, RESULTS / study.name, PUBLISHED, arrays)
    docs = PUBLISHED.parent
    with tempfile.TemporaryDirectory() as folder:
        build([study], RESULTS, STORE, Path(folder) / "site", PUBLISHED)
        figure = docs / FIGURES / f"{study.name}.png"
        figure.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(folder) / f"site/figures/{study.name}-key.png", figure)
    studies = [load_study(STUDIES / f"{snapshot.path.name}.yaml") for snapshot in snapshots(PUBLISHED)]
    write_text(docs / "results.md", overview(studies, PUBLISHED))
    print("\n".join([f"{PUBLISHED / study.name}, {figure}, {docs / 'results.md'}: written", *found]))


if __name__ == "__main__":
    run(publish_study)
