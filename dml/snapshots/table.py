"""A study's trials as CSV: what figures, tables and later sweeps need, rounded, and nothing that the study states.

The columns of a trial's cell (dataset, noise, loss, ...) are rebuilt from the study. Keys are cut to 20 of their 64
digits. Curves contain the objective only, and at most 20 points unless a search may compare them.

A study of a thousand cells is thinned further: a cell and settings that repeat the row above are left out, settings
have four digits, tuning trials have no score but their objective, and what trials log is left out unless a claim of the
study compares it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from dml.config import Study, stops_at_best, value_of
from dml.config.claim_checks import LOGGED
from dml.types import VALIDATION, Cell, ScoreKey

KEY_DIGITS = 20
COLUMNS = ("key", "cell", "phase", "number", "seed", "settings", "seconds", "started", "curve", "diagnostics")
SPLIT = "split"  # one more column, of a study with several class splits
POINTS = 20  # of a curve
REPEATED = ("cell", "settings")  # empty in a thinned table where they are those of the row above


def to_text(study: Study, trials: pd.DataFrame, thin: bool = False) -> str:
    """The finished trials of a study's cells as CSV, in the order of the cells.

    Parameters
    ----------
    trials : the content of `trials.parquet`.
    thin : as a large study is written.
    """
    scores = sorted(filter(ScoreKey.is_spelt, trials))
    used = [key for key in scores if trials[key].notna().any()]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    split = [SPLIT] if SPLIT in trials else []
    writer.writerow([*COLUMNS, *split, *used])
    cells = {cell.name: cell for cell in study.cells()}
    order = {name: i for i, name in enumerate(cells)}
    known = trials[trials["cell"].isin(order) & (trials["status"] == "finished")]
    known = known.assign(_cell=known["cell"].map(order), _phase=known["phase"] == "confirm")
    above = [""] * len(COLUMNS)
    for row in known.sort_values(["_cell", *split, "_phase", "number"]).to_dict("records"):
        cell = cells[row["cell"]]
        kept = {_objective(study, cell, "tune")} if thin and row["phase"] == "tune" else used
        texts = list(_texts(study, cell, _thinned(study, row) if thin else row))
        shown = _without_repeats(texts, above) if thin else texts
        shown += [str(row[SPLIT])] if split else []
        writer.writerow([*shown, *(_score(key, row[key]) if key in kept else "" for key in used)])
        above = texts
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
    frame[list(REPEATED)] = frame[list(REPEATED)].ffill()
    cells = {cell.name: cell for cell in study.cells()}
    frame = frame[frame["cell"].isin(cells)].reset_index(drop=True)
    rebuilt = pd.DataFrame([{"study": study.name, **cells[name].columns} for name in frame["cell"]], index=frame.index)
    frame = pd.concat([frame, rebuilt], axis=1).assign(status="finished", error="")
    trials = zip(frame["cell"], frame["phase"], strict=True)
    keys = [_objective(study, cells[name], phase) for name, phase in trials]
    frame["objective"] = [_value(study, key, row) for key, row in zip(keys, frame.to_dict("records"), strict=True)]
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


def _thinned(study: Study, row: Mapping[str, Any]) -> dict[str, Any]:
    """A trial without what only a small snapshot can contain."""
    claimed = {claim.score.partition("/")[2] for claim in study.claims if (claim.score or "").startswith(LOGGED)}
    logged = json.loads(row["diagnostics"] or "{}")
    wanted = {"eta_drawn", "eta_uniform"} if "eta" in claimed else set()
    settings = {name: _digits(value, 4) for name, value in json.loads(row["settings"]).items()}
    curve = json.loads(row["curve"] or "[]")
    first = row["phase"] == "confirm" and row["number"] == 0
    return {
        **row,
        "settings": json.dumps(settings, separators=(",", ":")),
        "started": row["started"] if first else "",
        "curve": row["curve"] if len(curve) > 1 else "[]",
        "diagnostics": json.dumps({name: value for name, value in logged.items() if name in claimed | wanted}),
    }


def _without_repeats(texts: list[str], above: list[str]) -> list[str]:
    places = [COLUMNS.index(name) for name in REPEATED]
    return ["" if i in places and text == above[i] else text for i, text in enumerate(texts)]


def _curve(study: Study, cell: Cell, row: Mapping[str, Any]) -> list[Any]:
    """`[[step, {objective: value}], ...]`: all of it if a search may compare it, else thinned, or nothing in tuning."""
    stopping = (study.search.pruner, study.search.early_stopping) != ("none", "none")
    compared = stopping or stops_at_best(study.search, row["phase"])
    if row["phase"] == "tune" and not compared:
        return []
    key = _objective(study, cell, row["phase"])
    points = [[step, {key: scores[key]}] for step, scores in json.loads(row["curve"] or "[]") if key in scores]
    if compared and row["phase"] == "tune":
        return points
    step = max(1, -(-len(points) // POINTS))
    kept = points[::-1][::step][::-1]  # with the last point
    return [[at, {key: _rounded(scores[key])}] for at, scores in kept]


def _score(key: str, value: Any) -> str:
    if value is None or value != value:
        return ""
    exact = ScoreKey.parse(key).set == VALIDATION  # a search depends on every bit
    return repr(float(value)) if exact else f"{value:.7g}"


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return _digits(value, 5)


def _digits(value: Any, digits: int) -> Any:
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _value(study: Study, objective: str, row: Mapping[str, Any]) -> float:
    """What a trial counts with: NaN if that is not known."""
    curve = json.loads(row["curve"]) if isinstance(row["curve"], str) else []
    value = value_of(study.search, row["phase"], objective, row, curve)
    return float("nan") if value is None else float(value)


def _objective(study: Study, cell: Cell, phase: str) -> str:
    return study.objective(cell.dataset, VALIDATION if phase == "tune" else "")
