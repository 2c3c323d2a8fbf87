"""Snapshots, the published results of studies, as files of the repository: `docs/results/<study>/`.

A clone shows them without training, and a sweep takes over their trials where the keys are the same.

- `trials.parquet`: one row per trial, with its configuration, and the study as it ran (`dml.snapshots.publishing`).
- `summary.json`: what ran where: commit, versions, machine, durations, command.
- `figures.npz` and `pictures-<dataset>.png`, of studies that keep embeddings: the arrays that their figures show, and
  small pictures for the rows of neighbours, only of datasets that allow it (`dml.snapshots.folder`).
"""

from dml.snapshots.folder import LARGEST, Snapshot, snapshots
from dml.snapshots.publishing import check_ran, publish

__all__ = ["LARGEST", "Snapshot", "check_ran", "publish", "snapshots"]
