"""Publish a finished study: its snapshot, key figure and docs/results.md; prints what changed since the last time."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from _stage import PUBLISHED, RESULTS, STORE, data_root, run
from overview import write_overview

from dml.config import Study
from dml.report.overview import FIGURES
from dml.report.recording import figure_arrays
from dml.report.site import build
from dml.snapshots import publish


def publish_study(study: Study) -> None:
    code = ["git", "status", "--porcelain", "--", "dml", "pipelines"]
    changed = subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()
    if changed:
        raise ValueError(f"commit these files first: a snapshot names the code that it comes from\n{changed}")
    arrays = figure_arrays(study, RESULTS / study.name, STORE, data_root(study))
    found = publish(study, RESULTS / study.name, PUBLISHED, arrays)
    figure = PUBLISHED.parent / FIGURES / f"{study.name}.png"
    figure.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        build([study], RESULTS, STORE, Path(folder) / "site", PUBLISHED)
        drawn = Path(folder) / "site/figures"
        shutil.copyfile(drawn / f"{study.name}-key.png", figure)
        for effects in sorted(drawn.glob(f"{study.name}-effects-*.png"))[:1]:
            shutil.copyfile(effects, figure.with_stem(f"{study.name}-effects"))
    print("\n".join([f"{PUBLISHED / study.name}, {figure}, {write_overview()}: written", *found]))


if __name__ == "__main__":
    run(publish_study)
