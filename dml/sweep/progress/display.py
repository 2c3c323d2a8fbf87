"""A sweep's progress: a live table on a terminal, plain lines elsewhere, and a file that `dml status` reads."""

from __future__ import annotations

import json
import platform
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.live import Live

from dml.config.for_use import comparable
from dml.files import write_text
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.progress.status import line, table
from dml.sweep.store.trials import FAILED, FINISHED, Outcome

LINE_SECONDS = 10.0  # between two plain lines
TICK_SECONDS = 1.0


PHASES = ("tune", "confirm")


class SweepProgress:
    """Counts the trials that ended, and displays them from its own thread.

    Parameters
    ----------
    study : the study's name.
    path : the status file.
    """

    def __init__(self, study: str, path: Path):
        self._study, self._path = study, path
        self.slots: Callable[[], int] = lambda: 1  # parallel trials, to estimate the remaining time
        self.gpus: Callable[[int], str] = lambda running: ""  # number of running trials -> the GPUs that they take
        self._plan: Plan | None = None
        self._counts = {FINISHED: 0, FAILED: 0}
        self._reused = self._resumed = 0
        self._ended = dict.fromkeys(PHASES, 0)
        self._seconds: dict[str, list[float]] = {phase: [] for phase in PHASES}  # of trials that ran now
        self._best: dict[str, tuple[int, int, float]] = {}  # by cell and class split: what sorts it, and its score
        self._groups: dict[int, int] = {}  # the place of a cell -> that of the cells whose scores compare with its own
        self._started = time.monotonic()
        self._state = "starting"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, name="progress", daemon=True)

    def watch(self, plan: Plan) -> None:
        """Start to display a plan's trials."""
        self._plan, self._state = plan, "running"
        groups = comparable(plan.cells).values()
        self._groups = {cell: rank for rank, cells in enumerate(groups) for cell in cells}
        self._thread.start()

    def ended(self, job: Job, outcome: Outcome, reused: bool) -> None:
        """Count a trial that ended."""
        self._counts[outcome.status] += 1
        self._reused += reused
        self._ended[job.phase] += 1
        self._seconds[job.phase] += [] if reused else [outcome.seconds]
        if job.phase == "tune" and outcome.status == FINISHED:
            value = self._plan.value(job, outcome) if self._plan else None
            if self._plan is not None and value is not None:
                own = self._groups[job.index // self._plan.study.splits], job.split, -value
                self._best[job.cell_name] = min(own, self._best.get(job.cell_name, own))

    def resumed(self) -> None:
        """Count a trial that is resumed because its worker died."""
        self._resumed += 1

    def close(self, state: str) -> None:
        """Display the final state, and stop the thread."""
        self._state = state
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def snapshot(self) -> dict[str, Any]:
        """The state as plain values."""
        plan = self._plan
        cells, running = (plan.states, list(plan.running)) if plan else ([], [])
        return {
            "study": self._study,
            "state": self._state,
            "cells": len(cells),
            "cells_done": sum(cell.done for cell in cells),
            "trials": plan.total if plan else 0,
            **self._counts,
            "reused": self._reused,
            "resumed": self._resumed,
            "running": len(running),
            "gpus": self.gpus(len(running)) if plan else "",
            "elapsed": time.monotonic() - self._started,
            "left": self._left(),
            "best": {name: -best for name, (*_, best) in sorted(self._best.items(), key=lambda item: item[1])},
            "updated": time.time(),
            "host": platform.node(),
            "store": str(self._path.resolve().parents[1]),
        }

    def _left(self) -> float | None:
        """The seconds that are left, by those of the trials that ended: of the same phase if there are any."""
        if self._plan is None or not any(self._seconds.values()):
            return None
        confirmed = len(self._plan.states) * len(self._plan.study.seeds)
        trials = {"tune": self._plan.total - confirmed, "confirm": confirmed}
        left = {phase: max(0, trials[phase] - self._ended[phase]) for phase in PHASES}
        both = [seconds for own in self._seconds.values() for seconds in own]
        each = {phase: self._seconds[phase] or both for phase in PHASES}
        return sum(left[phase] * fmean(each[phase]) for phase in PHASES) / max(1, min(self.slots(), sum(left.values())))

    def _show(self) -> None:
        console = Console(stderr=False)
        if console.is_terminal:
            with Live(console=console, refresh_per_second=2, get_renderable=lambda: table(self.snapshot())):
                while not self._stop.wait(TICK_SECONDS):
                    self._write()
        else:
            last = time.monotonic()
            while not self._stop.wait(TICK_SECONDS):
                self._write()
                if time.monotonic() - last >= LINE_SECONDS:
                    last = time.monotonic()
                    print(line(self.snapshot()), flush=True)
            print(line(self.snapshot()), flush=True)
        self._write()

    def _write(self) -> None:
        try:
            write_text(self._path, json.dumps(self.snapshot()))
        except OSError as error:  # a missing status file must not end the sweep
            print(f"status file: {error}", file=sys.stderr)
