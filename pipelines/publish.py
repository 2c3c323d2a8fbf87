"""Publish a finished study: write its snapshot in docs/results, and print what changed against the one before."""

import subprocess

from _stage import PUBLISHED, RESULTS, run

from dml.config import Study
from dml.snapshots import publish


def publish_study(study: Study) -> None:
    code = ["git", "status", "--porcelain", "--", "dml", "pipelines"]
    changed = subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()
    if changed:
        raise ValueError(f"commit these files first: a snapshot names the code that it comes from\n{changed}")
    found = publish(study, RESULTS / study.name, PUBLISHED)
    print("\n".join([f"{PUBLISHED / study.name}: written", *found]))


if __name__ == "__main__":
    run(publish_study)
