"""A study's trials as Parquet: what figures, tables and later sweeps need, rounded, and the study that they are of.

The columns are those of the table that a sweep writes, without the names of machines. Keys are cut to 20 of their 64
digits. Curves contain the objective only, and at most 20 points unless a search may compare them.

A study of a thousand cells is thinned further: settings have four digits, tuning trials have no score but their
objective, and what trials log is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dml.config import Study, stops_at_best
from dml.config.recorded import ATTRIBUTE, record
from dml.files import replacing
from dml.types import VALIDATION, Cell, ScoreKey

KEY_DIGITS = 20
POINTS = 20  # of a curve


def rounded(study: Study, trials: pd.DataFrame, thin: bool = False) -> pd.DataFrame:
    """The finished trials of a study's cells, in the order of the cells.

    Parameters
    ----------
    trials : the content of `trials.parquet`.
    thin : as a large study is written.
    """
    scores = sorted(filter(ScoreKey.is_spelt, trials))
    used = [key for key in scores if trials[key].notna().any()]
    others = [column for column in trials if column not in (*scores, "host")]
    cells = {cell.name: cell for cell in study.cells()}
    order = {name: i for i, name in enumerate(cells)}
    known = trials[trials["cell"].isin(order) & (trials["status"] == "finished")]
    known = known.assign(_cell=known["cell"].map(order), _phase=known["phase"] == "confirm")
    split = [name for name in ("split",) if name in trials]
    known = known.sort_values(["_cell", *split, "_phase", "number"])[[*others, *used]]
    rows = [_row(study, cells[row["cell"]], row, used, thin) for row in known.to_dict("records")]
    frame = pd.DataFrame(rows, columns=known.columns)
    frame.attrs[ATTRIBUTE] = trials.attrs.get(ATTRIBUTE) or record(study)
    return frame


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of `rounded`."""
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False, compression="zstd", compression_level=19, write_statistics=False)


def _row(study: Study, cell: Cell, row: Mapping[str, Any], used: list[str], thin: bool) -> dict[str, Any]:
    tunes, objective = row["phase"] == "tune", _objective(study, cell, row["phase"])
    row = {**row, "curve": row["curve"] or "[]", "diagnostics": row["diagnostics"] or "{}"}
    row = _thinned(study, row) if thin else row
    logged = {} if tunes else json.loads(row["diagnostics"])
    kept = {objective} if thin and tunes else used
    return {
        **row,
        **{key: _score(key, row[key]) if key in kept else None for key in used},
        "key": str(row["key"])[:KEY_DIGITS],
        "started": row["started"] or "",
        "seconds": _digits(float(row["seconds"]), 3),
        "objective": _score(objective, row["objective"]),
        "curve": json.dumps(_curve(study, cell, row), separators=(",", ":")),
        "diagnostics": json.dumps({name: _rounded(value) for name, value in logged.items()}, separators=(",", ":")),
    }


def _thinned(study: Study, row: Mapping[str, Any]) -> dict[str, Any]:
    """A trial without what only a small snapshot can contain."""
    settings = {name: _digits(value, 4) for name, value in json.loads(row["settings"]).items()}
    first = row["phase"] == "confirm" and row["number"] == 0
    return {
        **row,
        "settings": json.dumps(settings, separators=(",", ":")),
        "started": row["started"] if first else "",
        "curve": row["curve"] if len(json.loads(row["curve"])) > 1 else "[]",
        "diagnostics": "{}",
    }


def _curve(study: Study, cell: Cell, row: Mapping[str, Any]) -> list[Any]:
    """`[[step, {objective: value}], ...]`: all of it if a search may compare it, else thinned, or nothing in tuning."""
    compared = study.search.early_stopping != "none" or stops_at_best(study.search, row["phase"])
    if row["phase"] == "tune" and not compared:
        return []
    key = _objective(study, cell, row["phase"])
    points = [[step, {key: scores[key]}] for step, scores in json.loads(row["curve"]) if key in scores]
    if compared and row["phase"] == "tune":
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
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return _digits(value, 5)


def _digits(value: Any, digits: int) -> Any:
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _objective(study: Study, cell: Cell, phase: str) -> str:
    return study.objective(cell.dataset, VALIDATION if phase == "tune" else "")
