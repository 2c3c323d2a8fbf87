"""Read what a sweep wrote: `trials.parquet` and `summary.json` of one study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from dml.config import Study
from dml.report.results import Results

COLUMNS = (
    *("key", "study", "cell", "phase", "number", "seed", "status", "error", "dataset", "noise", "rate", "loss"),
    *("positives", "negatives", "settings", "objective", "seconds", "curve", "diagnostics", "started"),
)
NUMBERS = ("number", "seed", "rate", "objective", "seconds")


def load(study: Study, folder: Path, store: Path | None = None, data: Path | None = None) -> Results:
    """Read one study's results. A missing or broken file becomes `Results.problem`, never an error.

    Parameters
    ----------
    folder : contains `trials.parquet` and `summary.json`.
    store : contains `trials/<key>/embeddings.npz` of the studies that keep embeddings.
    data : `data/<study>`, which names the packed images; only figures that show images need it.
    """
    summary, problem = _summary(folder / "summary.json")
    path = folder / "trials.parquet"
    trials = pd.DataFrame()
    if not path.is_file():
        problem = "No trial has run yet: this study has no trials.parquet."
    else:
        try:
            trials = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            problem = f"trials.parquet cannot be read: {str(error).splitlines()[0]}"
    if not problem and trials.empty:
        problem = "No trial has run yet: trials.parquet has no rows."
    lacking = [column for column in COLUMNS if column not in trials]
    if lacking and not trials.empty:
        problem = f"trials.parquet lacks the columns {', '.join(lacking)}."
    for column in lacking:
        trials[column] = pd.Series([None] * len(trials), dtype=object)
    for column in NUMBERS:
        trials[column] = pd.to_numeric(trials[column], errors="coerce")
    return Results(study, trials, summary, problem, store, data)


def _summary(path: Path) -> tuple[dict[str, Any], str]:
    """The content, and what is wrong with it; a missing file is an empty summary."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, f"summary.json cannot be read: {error}"
    return (content if isinstance(content, dict) else {}), ""
