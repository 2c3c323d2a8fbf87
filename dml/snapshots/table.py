"""A study's trials as CSV: what figures, tables and later sweeps need, rounded, and nothing that the study states.

The columns of a trial's cell (dataset, noise, loss, ...) are rebuilt from the study. Keys are cut to 20 of their 64
digits. Curves contain the objective only, and of trials without pruning at most 20 points.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from dml.config import Study
from dml.types import Cell

KEY_DIGITS = 20
COLUMNS = ("key", "cell", "phase", "number", "seed", "settings", "seconds", "started", "curve", "diagnostics")
POINTS = 20  # of a curve


def to_text(study: Study, trials: pd.DataFrame) -> str:
    """The finished trials of a study's cells as CSV, in the order of the cells.

    Parameters
    ----------
    trials : the content of `trials.parquet`.
    """
    scores = sorted(column for column in trials if column.count("/") >= 2)
    used = [key for key in scores if trials[key].notna().any()]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*COLUMNS, *used])
    cells = {cell.name: cell for cell in study.cells()}
    order = {name: i for i, name in enumerate(cells)}
    known = trials[trials["cell"].isin(order) & (trials["status"] == "finished")]
    known = known.assign(_cell=known["cell"].map(order), _phase=known["phase"] == "confirm")
    for row in known.sort_values(["_cell", "_phase", "number"]).to_dict("records"):
        writer.writerow([*_texts(study, cells[row["cell"]], row), *(_score(key, row[key]) for key in used)])
    return file.getvalue()


def from_text(study: Study, text: str) -> pd.DataFrame:
    """The trials as `trials.parquet` has them, of cells that the study still has.

    Raises
    ------
    ValueError : the text lacks a column.
    """
    frame = pd.read_csv(io.StringIO(text), dtype={"key": str, "cell": str, "phase": str, "started": str})
    lacking = [column for column in COLUMNS if column not in frame]
    if lacking:
        raise ValueError(f"the trials of a snapshot lack the columns {', '.join(lacking)}")
    cells = {cell.name: cell for cell in study.cells()}
    frame = frame[frame["cell"].isin(cells)].reset_index(drop=True)
    rebuilt = pd.DataFrame([{"study": study.name, **cells[name].columns} for name in frame["cell"]], index=frame.index)
    frame = pd.concat([frame, rebuilt], axis=1).assign(status="finished", error="")
    trials = zip(frame["cell"], frame["phase"], strict=True)
    keys = [_objective(study, cells[name], phase) for name, phase in trials]
    frame["objective"] = [frame.at[i, key] if key in frame else float("nan") for i, key in enumerate(keys)]
    return frame.fillna({"settings": "{}", "curve": "[]", "diagnostics": "{}", "started": ""})


def rows(text: str) -> Iterator[dict[str, str]]:
    """The rows as text, by column."""
    yield from csv.DictReader(io.StringIO(text))


def _texts(study: Study, cell: Cell, row: Mapping[str, Any]) -> Iterator[str]:
    yield str(row["key"])[:KEY_DIGITS]
    yield from (str(row[name]) for name in ("cell", "phase", "number", "seed", "settings"))
    yield f"{row['seconds']:.3g}"
    yield str(row["started"] or "")
    yield json.dumps(_curve(study, cell, row), separators=(",", ":"))
    diagnostics = json.loads(row["diagnostics"] or "{}") if row["phase"] == "confirm" else {}
    yield json.dumps({name: _rounded(value) for name, value in diagnostics.items()}, separators=(",", ":"))


def _curve(study: Study, cell: Cell, row: Mapping[str, Any]) -> list[Any]:
    """`[[step, {objective: value}], ...]`: all of it if a pruner may compare it, else thinned, or nothing in tuning."""
    pruned = study.search.pruner != "none"
    if row["phase"] == "tune" and not pruned:
        return []
    key = _objective(study, cell, row["phase"])
    points = [[step, {key: scores[key]}] for step, scores in json.loads(row["curve"] or "[]") if key in scores]
    if pruned and row["phase"] == "tune":
        return points
    step = max(1, -(-len(points) // POINTS))
    kept = points[::-1][::step][::-1]  # with the last point
    return [[at, {key: _rounded(scores[key])}] for at, scores in kept]


def _score(key: str, value: Any) -> str:
    if value is None or value != value:
        return ""
    return repr(float(value)) if key.startswith("validation/") else f"{value:.7g}"  # a search depends on every bit


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _objective(study: Study, cell: Cell, phase: str) -> str:
    return study.objective(cell.dataset, "validation" if phase == "tune" else "")
