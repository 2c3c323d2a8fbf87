"""Snapshots, the published results of studies: `docs/results/<study>/`, whose README says what is in them."""

from dml.snapshots.folder import LARGEST, Snapshot, snapshots
from dml.snapshots.publishing import check_ran, publish

__all__ = ["LARGEST", "Snapshot", "check_ran", "publish", "snapshots"]
