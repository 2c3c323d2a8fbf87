"""The trials of snapshots, which a sweep counts as done."""

from __future__ import annotations

import os
from pathlib import Path

from dml.snapshots import snapshots
from dml.sweep.store.trials import FINISHED, Outcome


def snapshot_outcomes(folder: Path) -> dict[str, Outcome]:
    """The outcomes of all snapshots, by the first digits of their keys; none with `DML_SNAPSHOTS=off`.

    Parameters
    ----------
    folder : of the snapshots (`docs/results`).
    """
    if os.environ.get("DML_SNAPSHOTS") == "off":
        return {}
    found = (pair for snapshot in snapshots(folder) for pair in snapshot.outcomes())
    return {key: Outcome(FINISHED, **content, host="published") for key, content in found}
