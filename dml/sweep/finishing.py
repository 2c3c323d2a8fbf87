"""The end of a sweep: writes its results, and deletes the models that no study keeps."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from dml.config import ConfigError
from dml.files import replacing, write_text
from dml.sweep.models import delete_dropped, missing
from dml.sweep.needed import needed_keys, studies_that_start
from dml.sweep.plan import Plan
from dml.sweep.progress import SweepProgress
from dml.sweep.results import summarize, trials_frame
from dml.sweep.starts import Starts
from dml.sweep.store import FAILED


def write_results(
    plan: Plan, progress: SweepProgress, out: Path, seconds: float
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Write `trials.parquet` and `summary.json` into the folder `out`, and return their contents."""
    frame = trials_frame(plan.study, plan)
    summary = summarize(plan.study, frame, progress.snapshot(), seconds)
    with replacing(out / "trials.parquet") as temporary:
        frame.to_parquet(temporary, index=False)
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    return frame, summary


def print_retry(name: str, plan: Plan) -> None:
    """Print how to retry failures that are not stored: DVC considers the stage complete and skips it."""
    passing = [outcome for _, outcome in plan.ended() if outcome.status == FAILED and not outcome.lasting]
    if passing:
        last = passing[0].error.strip().rpartition("\n")[2]
        print(
            f"{name}: {len(passing)} trial{'s' * (len(passing) > 1)} failed for a reason that may be temporary "
            f"({last}); "
            f"`dvc repro --force --single-item sweep@{name} && dvc repro` retries only those.",
            file=sys.stderr,
            flush=True,
        )


def tidy(plan: Plan, starts: Starts, studies: Path | None) -> None:
    """Delete the models that no study keeps, and print what `keep_models: all` lacks."""
    name = plan.study.name
    try:
        needed = needed_keys(studies_that_start(studies), starts) if studies is not None else set()
        count, size = delete_dropped(plan.store, name, needed)
    except (ConfigError, OSError) as error:
        print(f"{name}: no model is deleted: {error}", file=sys.stderr, flush=True)
        return
    if count:
        print(f"{name}: deleted {count} models ({size / 1e6:,.1f} MB), as resources.keep_models says", flush=True)
    lacking = missing(plan)
    if lacking:
        print(
            f"{name}: keep_models is `all`, but {lacking} finished trials have no model here: they are published, or a "
            f"study kept fewer. To train them again: python -m dml.sweep.retrain {name}, then "
            f"DML_PUBLISHED=off dvc repro --force --single-item sweep@{name}",
            file=sys.stderr,
            flush=True,
        )
