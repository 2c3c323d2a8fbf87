"""Snapshots, the published results of studies, as files of the repository: `docs/results/<study>/`.

A clone shows them without training, and a sweep takes over their trials where the keys are the same.

- `trials.parquet`: one row per trial, with its configuration, and the study as it ran (`dml.snapshots.publishing`).
- `summary.json`: what ran where: commit, versions, machine, durations, command.
- `figures.npz`: the scores of each class, and of studies that keep embeddings the arrays that their figures show.
"""

from dml.snapshots.folder import LARGEST, Snapshot, snapshots
from dml.snapshots.publishing import check_ran, publish

__all__ = ["LARGEST", "Snapshot", "check_ran", "publish", "snapshots"]
