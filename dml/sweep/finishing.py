"""The end of a sweep: writes its results, and deletes the models that no study keeps."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pandas as pd

from dml.config import ConfigError
from dml.config.for_use import for_use
from dml.counting import counted
from dml.files import replacing, write_text
from dml.sweep.inputs.closed_forms import closed_form_scores
from dml.sweep.inputs.data_counts import data_counts
from dml.sweep.inputs.untrained import means, scores_by_split, untrained_scores
from dml.sweep.plan.plan import Plan
from dml.sweep.progress.display import SweepProgress
from dml.sweep.progress.results import summarize, trials_frame
from dml.sweep.retention.models import MODEL, best_model, delete_dropped, missing, record
from dml.sweep.store.init_from import InitFromFinder
from dml.sweep.store.needed_models import needed_keys, starts_of, studies_that_start
from dml.sweep.store.trials import FAILED, FINISHED, Outcome

TIDY_SECONDS = 600.0  # between two deletions while a sweep runs
USABLE = ("tuples", "active_share", "anchor_share")  # logged means over the steps; 0: no step had a usable tuple
NAMED = 3  # cells that a message names


def write_results(plan: Plan, progress: SweepProgress, out: Path, data_root: Path, seconds: float) -> pd.DataFrame:
    """Write `trials.parquet` and `summary.json` into the folder `out`, and return the table."""
    frame = trials_frame(plan.study, plan)
    summary = summarize(plan.study, frame, progress.snapshot(), seconds)
    data = data_counts(plan.study, data_root)
    summary |= {"data": data} if data else {}
    by_split = scores_by_split(plan, data_root)
    untrained = means(by_split) if by_split else untrained_scores(plan, data_root)
    summary |= {"untrained": untrained} if untrained else {}
    summary |= {"untrained_by_split": by_split} if by_split else {}
    by_noise = closed_form_scores(plan, data_root)
    summary |= {"untrained_by_noise": by_noise} if by_noise else {}
    if (best := best_model(plan)) is not None:
        plan.store.pull_folder(best.key, MODEL)
        summary["model"] = best.key
    elif plan.study.resources.register_as is not None and not for_use(plan.cells):
        print(
            f"{plan.study.name}: no model is registered as {plan.study.resources.register_as!r}: all were trained on "
            "labels that were made wrong on purpose. Add the rate 0 to `noise`",
            file=sys.stderr,
            flush=True,
        )
    with replacing(out / "trials.parquet") as temporary:
        frame.to_parquet(temporary, index=False)
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    return frame


class Tidying:
    """Deletes the models that no study keeps, while a sweep runs and when it ends.

    Parameters
    ----------
    plan : the sweep's.
    starts : finds the trials whose models other studies start from.
    studies : the folder of all studies; None: no other study starts from a model.
    """

    def __init__(self, plan: Plan, starts: InitFromFinder, studies: Path | None):
        self._plan, self._starts, self._studies = plan, starts, studies
        self._last = time.monotonic()

    def now_and_then(self) -> None:
        """Delete models of confirmed cells, at most every `TIDY_SECONDS`."""
        if time.monotonic() - self._last >= TIDY_SECONDS:
            self._tidy(ended=False)
            self._last = time.monotonic()

    def end(self) -> None:
        """Delete models once the results are written, and print what `keep_models: all` lacks."""
        kept, count, size = self._tidy(ended=True)
        name, lacking = self._plan.study.name, missing(self._plan)
        if count:
            print(
                f"{name}: {counted(kept, 'model')} kept, the best seed of each cell or as resources.keep_models says; "
                f"{count} of other seeds deleted ({size / 1e6:,.1f} MB)",
                flush=True,
            )
        if lacking:
            print(
                f"{name}: keep_models is `all`, but {lacking} finished trials have no model here: they are published, "
                f"or a study kept fewer. To train them again: python -m dml.sweep.retention.retrain {name}, then "
                f"DML_SNAPSHOTS=off dvc repro --force --single-item sweep@{name}",
                file=sys.stderr,
                flush=True,
            )

    def _tidy(self, ended: bool) -> tuple[int, int, int]:
        """Delete models; returns how many are kept and deleted, and the bytes of these."""
        name = self._plan.study.name
        try:
            users = studies_that_start(self._studies) if self._studies is not None else []
            if not ended and any(start.study == name for user in users for start in starts_of(user)):
                return 0, 0, 0  # which of its trials they start from follows from its results
            needed = needed_keys(users, self._starts)
            return record(self._plan, needed), *delete_dropped(self._plan.store, name, needed)
        except (ConfigError, OSError) as error:
            print(f"{name}: no model is deleted: {error}", file=sys.stderr, flush=True)
            return 0, 0, 0


def print_unusable(name: str, plan: Plan) -> None:
    """Print which finished trials learned nothing, since no step had a tuple that costs something."""
    finished = [(job, outcome) for job, outcome in plan.ended() if outcome.status == FINISHED]
    found = [job for job, outcome in finished if _learned_nothing(outcome)]
    if found:
        cells = list(dict.fromkeys(job.cell.name for job in found))
        more = f" and {len(cells) - NAMED} more cells" if len(cells) > NAMED else ""
        print(
            f"{name}: {len(found)} of {len(finished)} trials had no usable tuple in any step, so they score as "
            f"untrained networks: {', '.join(cells[:NAMED])}{more}. Check the miner, the margin and the batch.",
            file=sys.stderr,
            flush=True,
        )


def _learned_nothing(outcome: Outcome) -> bool:
    return any(outcome.diagnostics.get(logged) == 0 for logged in USABLE)


def print_retry(name: str, plan: Plan) -> None:
    """Print how to retry failures that are not stored: DVC considers the stage complete and skips it."""
    passing = [outcome for _, outcome in plan.ended() if outcome.status == FAILED and not outcome.lasting]
    if passing:
        last = passing[0].error.strip().rpartition("\n")[2]
        print(
            f"{name}: {len(passing)} trial{'s' * (len(passing) > 1)} failed ({last}). Once the cause is gone, "
            f"`dvc repro --force --single-item sweep@{name} && dvc repro` runs only those again.",
            file=sys.stderr,
            flush=True,
        )
