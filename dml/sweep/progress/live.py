"""The table of a sweep's trials while it runs: `store/sweeps/<study>.live/trials.parquet`.

It has the columns of `trials.parquet`, and rows of running trials with the curve so far (status `running`). It stays
where a sweep was interrupted, and goes once the results are written. `dml.pipeline.sync` shows it in MLflow.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dml.files import replacing
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.progress.results import trials_frame
from dml.sweep.store.trials import Outcome

RUNNING = "running"
SECONDS = 15.0  # between two versions
SHARE = 0.02  # of the driver's time that writing may take


def live_folder(store: Path, study: str) -> Path:
    """The folder of a study's table."""
    return store / "sweeps" / f"{study}.live"


class LiveTable:
    """Writes the table now and then.

    Parameters
    ----------
    plan : its trials.
    """

    def __init__(self, plan: Plan):
        self._plan, self._folder = plan, live_folder(plan.store.root, plan.study.name)
        self._running: dict[str, tuple[Job, Outcome]] = {}  # by job id
        self._next = 0.0

    def evaluated(self, job: Job, curve: Sequence[Any], seconds: float) -> None:
        """Note the curve of a running trial so far, `[[step, scores], ...]`, and how long it has run."""
        started = datetime.fromtimestamp(time.time() - seconds, UTC).isoformat(timespec="seconds")
        self._running[job.id] = job, Outcome(RUNNING, {}, list(curve), seconds=seconds, started=started)
        self.now_and_then()

    def ended(self, job: Job) -> None:
        """Note that a trial ended."""
        self._running.pop(job.id, None)
        self.now_and_then()

    def now_and_then(self) -> None:
        """Write the table, unless that was done a moment ago."""
        if time.monotonic() >= self._next:
            begun = time.monotonic()
            self.write()
            self._next = time.monotonic() + max(SECONDS, (time.monotonic() - begun) / SHARE)

    def write(self) -> None:
        """Write the table. A full disk is not said here: a sweep can do without."""
        frame = trials_frame(self._plan.study, self._plan, self._running.values())
        with suppress(OSError), replacing(self._folder / "trials.parquet") as temporary:
            frame.to_parquet(temporary, index=False)

    def close(self, finished: bool) -> None:
        """Delete the table if the results are written; otherwise write it once more, without running trials."""
        if finished:
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            self._running.clear()
            self.write()
