"""Publishing a finished study, and what changed since it was published before."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.config import Study
from dml.files import write_text
from dml.own_files import is_output, refusal
from dml.snapshots import figures, table
from dml.snapshots.folder import LARGEST, SUMMARY, TRIALS, Snapshot

CLASSES = "classes/"  # begins the names of each class's scores, among the arrays
PROVENANCE = (
    "git_commit",
    "study_digest",
    "command",
    "versions",
    "seconds",
    "training_seconds",
    "trials",
    "cells",
    "score",
    "data",
    "untrained",
    "untrained_by_noise",
    "untrained_by_split",
)


def publish(study: Study, results: Path, root: Path, arrays: Mapping[str, np.ndarray] | None = None) -> list[str]:
    """Write a study's snapshot. Returns what changed against the one before, in sentences.

    Parameters
    ----------
    results : contains `trials.parquet` and `summary.json`.
    root : contains the snapshots of all studies.
    arrays : what its figures of embeddings are drawn from, see `dml.snapshots.figures`.

    Raises
    ------
    ValueError : a trial failed or is missing, the code was not committed when the study ran, the snapshot would be
        larger than `LARGEST`, or its folder has other files.
    """
    check_ran(study, results)
    snapshot = Snapshot(root / study.name)
    if not is_output(snapshot.path / TRIALS) and (found := sorted(snapshot.path.glob("[!.]*"))):
        raise ValueError(refusal(found, Path.cwd()))
    trials = pd.read_parquet(results / "trials.parquet")
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    _check(study, trials, summary)
    rounded = table.rounded(study, trials)
    if (size := _trial_bytes(rounded)) > LARGEST:
        rounded = table.rounded(study, trials, thin=True)
        size = _trial_bytes(rounded)
    content = {**{name: summary[name] for name in PROVENANCE if name in summary}, "machine": _machine()}
    described = json.dumps(content, indent=2) + "\n"
    size += len(described.encode())
    arrays = _fitting(arrays or {}, LARGEST - size)
    _check_size(study, size, arrays)
    before = snapshot.trials() if snapshot.exists else None
    table.write(rounded, snapshot.path / TRIALS)
    write_text(snapshot.path / SUMMARY, described)
    figures.write(snapshot.path, arrays or {})
    return [] if before is None else changes(before, snapshot.trials())


def check_ran(study: Study, results: Path) -> None:
    """Raise a ValueError if a study has no results in the folder `results`."""
    if not (results / "trials.parquet").is_file():
        raise ValueError(f"{study.name} has not run here, so there is nothing to publish. Run it: dml run {study.name}")


def changes(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """One sentence per cell that is new or gone, or whose mean objective left its earlier 95% interval."""
    old, new = _objectives(before), _objectives(after)
    found = [f"new: {name}" for name in new if name not in old] + [f"gone: {name}" for name in old if name not in new]
    for name in old.keys() & new.keys():
        s, now = statistics.summary(old[name]), float(np.mean(new[name]))
        inside = s.low <= now <= s.high if np.isfinite(s.low) else now == s.mean
        if not inside:
            interval = f", beyond the interval {s.low:.4f} to {s.high:.4f}" if np.isfinite(s.low) else ""
            found.append(f"moved: {name}: {s.mean:.4f} -> {now:.4f}{interval}")
    return sorted(found)


def _check(study: Study, trials: pd.DataFrame, summary: Mapping[str, Any]) -> None:
    commit = str(summary.get("git_commit", ""))
    if not commit or commit.endswith("-dirty"):
        raise ValueError(
            f"{study.name}: it ran with code or studies that are not committed ({commit or 'no repository'}); commit "
            f"them, and run `dvc repro --force --single-item sweep@{study.name} && dvc repro`, which repeats no trial "
            "whose parts did not change"
        )
    if summary.get("study_digest", study.digest) != study.digest:
        raise ValueError(f"{study.name}: the study has changed since it ran; run it again: dml run {study.name}")
    failed = int((trials["status"] == "failed").sum())
    if failed:
        raise ValueError(f"{study.name}: {failed} trials failed: a study is published whole")
    confirmed = trials[(trials["phase"] == "confirm") & (trials["status"] == "finished")]
    split = confirmed.get("split", 0)
    done = confirmed.assign(split=split).drop_duplicates(["cell", "split", "seed"]).groupby("cell").size()
    missing = [cell.name for cell in study.cells() if done.get(cell.name, 0) < len(study.seeds) * study.splits]
    if missing:
        listed = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ValueError(f"{study.name}: {len(missing)} of {len(study.cells())} cells lack seeds: {listed}")


def _fitting(arrays: Mapping[str, np.ndarray], limit: int) -> Mapping[str, np.ndarray]:
    """Without the scores of classes if the arrays take more bytes: then published intervals cover seeds only."""
    return arrays if _bytes(arrays) <= limit else {k: a for k, a in arrays.items() if not k.startswith(CLASSES)}


def _bytes(arrays: Mapping[str, np.ndarray]) -> int:
    return _written(lambda folder: figures.write(folder, arrays))


def _trial_bytes(trials: pd.DataFrame) -> int:
    return _written(lambda folder: table.write(trials, folder / TRIALS))


def _written(write: Callable[[Path], None]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return Snapshot(Path(folder)).size


def _check_size(study: Study, text: int, arrays: Mapping[str, np.ndarray]) -> None:
    drawn = _bytes(arrays)
    if text + drawn > LARGEST:
        fewer = "; let report.cells name fewer cells, or lower report.queries or report.neighbors" if drawn else ""
        raise ValueError(
            f"{study.name}: its snapshot would have {text + drawn:,} bytes ({text:,} of trials, {drawn:,} of figures); "
            f"at most {LARGEST:,} are allowed{fewer}"
        )


def _objectives(trials: pd.DataFrame) -> dict[str, list[float]]:
    done = trials[(trials["phase"] == "confirm") & (trials["status"] == "finished")]
    return {str(name): list(rows["objective"]) for name, rows in done.groupby("cell", sort=False)}


def _machine() -> str:
    return f"{os.cpu_count()} CPU cores, {platform.system()} {platform.machine()}"
