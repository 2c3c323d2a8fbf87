"""Publishing a finished study: its trials as Parquet, rounded, with the study as it ran, and without names of machines.

Keys are cut to 20 of their 64 digits. Curves have the objective only, 20 points at most unless a search compares them.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.config import Study, stops_at_best
from dml.config.loading import ATTRIBUTE, record
from dml.files import replacing, write_text
from dml.own_files import is_output, refusal
from dml.snapshots import folder as figures
from dml.snapshots.folder import LARGEST, SUMMARY, TRIALS, Snapshot
from dml.types import VALIDATION, Cell, ScoreKey

KEY_DIGITS = 20
POINTS = 20  # of a curve


def rounded_trials(study: Study, trials: pd.DataFrame) -> pd.DataFrame:
    """The finished trials of a study's cells, in the order of the cells."""
    scores = sorted(filter(ScoreKey.is_spelt, trials))
    used = [key for key in scores if trials[key].notna().any()]
    others = [column for column in trials if column not in (*scores, "host")]
    cells = {cell.name: cell for cell in study.cells()}
    order = {name: i for i, name in enumerate(cells)}
    finished = trials[trials["cell"].isin(order) & (trials["status"] == "finished")]
    finished = finished.assign(_cell=finished["cell"].map(order), _phase=finished["phase"] == "confirm")
    finished = finished.sort_values(["_cell", *({"split"} & {*trials}), "_phase", "number"])[[*others, *used]]
    rows = [_row(study, cells[row["cell"]], row, used) for row in finished.to_dict("records")]
    frame = pd.DataFrame(rows, columns=finished.columns)
    frame.attrs[ATTRIBUTE] = trials.attrs.get(ATTRIBUTE) or record(study)
    return frame


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of `rounded`."""
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False, compression="zstd", compression_level=19, write_statistics=False)


def _row(study: Study, cell: Cell, row: Mapping[str, Any], used: list[str]) -> dict[str, Any]:
    tunes, objective = row["phase"] == "tune", _objective(study, cell, row["phase"])
    row = {**row, "curve": row["curve"] or "[]", "diagnostics": row["diagnostics"] or "{}"}
    logged = {} if tunes else json.loads(row["diagnostics"])
    return {
        **row,
        **{key: _score(key, row[key]) for key in used},
        "key": str(row["key"])[:KEY_DIGITS],
        "started": row["started"] or "",
        "seconds": _digits(float(row["seconds"]), 3),
        "objective": _score(objective, row["objective"]),
        "curve": json.dumps(_curve(study, cell, row), separators=(",", ":")),
        "diagnostics": json.dumps({name: _rounded(value) for name, value in logged.items()}, separators=(",", ":")),
    }


def _curve(study: Study, cell: Cell, row: Mapping[str, Any]) -> list[Any]:
    """`[[step, {objective: value}], ...]`: all of it if a search may compare it, else thinned, or nothing in tuning."""
    compared = stops_at_best(study.search, row["phase"])
    if row["phase"] == "tune" and not compared:
        return []
    key = _objective(study, cell, row["phase"])
    points = [[step, {key: scores[key]}] for step, scores in json.loads(row["curve"]) if key in scores]
    if compared:
        return points
    step = max(1, -(-len(points) // POINTS))
    kept = points[::-1][::step][::-1]  # with the last point
    return [[at, {key: _rounded(scores[key])}] for at, scores in kept]


def _score(key: str, value: Any) -> float | None:
    if value is None or value != value:
        return None
    exact = ScoreKey.parse(key).set == VALIDATION  # a search depends on every bit
    return float(value) if exact else _digits(float(value), 7)


def _rounded(value: Any) -> Any:
    return [_rounded(inner) for inner in value] if isinstance(value, list) else _digits(value, 5)


def _digits(value: Any, digits: int) -> Any:
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _objective(study: Study, cell: Cell, phase: str) -> str:
    return study.objective(cell.dataset, VALIDATION if phase == "tune" else "")


CLASSES = "classes/"  # begins the names of each class's scores, among the arrays
FIELDS = 3  # slashes in names of the objective's: `classes/<key>/<set>/<field>`; others have `<set>/<level>/<metric>`
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


def publish(study: Study, results: Path, root: Path, arrays: Mapping[str, np.ndarray] | None = None) -> None:
    """Write a study's snapshot."""
    check_ran(study, results)
    snapshot = Snapshot(root / study.name)
    if not is_output(snapshot.path / TRIALS) and (foreign := sorted(snapshot.path.glob("[!.]*"))):
        raise ValueError(refusal(foreign, Path.cwd()))
    trials = pd.read_parquet(results / "trials.parquet")
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    _check(study, trials, summary)
    machine = f"{os.cpu_count()} CPU cores, {platform.system()} {platform.machine()}"
    content = {**{name: summary[name] for name in PROVENANCE if name in summary}, "machine": machine}
    arrays = arrays or {}
    without = {name: array for name, array in arrays.items() if not name.startswith(CLASSES)}  # intervals cover seeds
    of_objective = {name: array for name, array in arrays.items() if name in without or name.count("/") == FIELDS}
    with tempfile.TemporaryDirectory() as temporary:
        fresh = Snapshot(Path(temporary))
        write_table(rounded_trials(study, trials), fresh.path / TRIALS)
        write_text(fresh.path / SUMMARY, json.dumps(content, indent=2) + "\n")
        text = fresh.size
        for kept in (arrays, of_objective, without):
            figures.write_figures(fresh.path, kept)
            if fresh.size <= LARGEST:
                break
        if fresh.size > LARGEST:
            raise ValueError(
                f"{study.name}: its snapshot would have {fresh.size:,} bytes ({text:,} of trials, the "
                f"others of figures); at most {LARGEST:,} are allowed"
            )
        for name in (TRIALS, SUMMARY, figures.FIGURES):
            (snapshot.path / name).unlink(missing_ok=True)
        shutil.copytree(temporary, snapshot.path, dirs_exist_ok=True)


def check_ran(study: Study, results: Path) -> None:
    """Raise a ValueError if a study has no results in the folder `results`."""
    if not (results / "trials.parquet").is_file():
        raise ValueError(f"{study.name} has not run here, so there is nothing to publish. Run it: dml run {study.name}")


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
