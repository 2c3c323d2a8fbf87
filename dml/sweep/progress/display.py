"""A sweep's progress: a live table on a terminal, plain lines elsewhere, and a file that `dml status` reads."""

from __future__ import annotations

import json
import platform
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
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
        self._remaining = {phase: Remaining() for phase in ("", *PHASES)}  # of all trials, and of those of a phase
        self._ended = dict.fromkeys(PHASES, 0)
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
        for phase in ("", job.phase):
            self._remaining[phase].ended(job.id, None if reused else outcome.seconds, _since(outcome.started))
        if job.phase == "tune" and outcome.status == FINISHED:
            value = self._plan.value(job, outcome) if self._plan else None
            if self._plan is not None and value is not None:
                own = self._groups[job.index // self._plan.study.splits], job.split, -value
                self._best[job.cell_name] = min(own, self._best.get(job.cell_name, own))

    def evaluated(self, job: Job, step: int) -> None:
        """Note how far a running trial is."""
        for phase in ("", job.phase):
            self._remaining[phase].evaluated(job.id, step / max(1, job.spec.training.total_steps))

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
        ended, total = sum(self._counts.values()), plan.total if plan else 0
        cells, running = (plan.states, list(plan.running)) if plan else ([], [])
        return {
            "study": self._study,
            "state": self._state,
            "cells": len(cells),
            "cells_done": sum(cell.done for cell in cells),
            "trials": total,
            **self._counts,
            "reused": self._reused,
            "resumed": self._resumed,
            "running": len(running),
            "gpus": self.gpus(len(running)) if plan else "",
            "elapsed": time.monotonic() - self._started,
            "left": self._left(total, ended, running),
            "best": {name: -best for name, (*_, best) in sorted(self._best.items(), key=lambda item: item[1])},
            "updated": time.time(),
            "host": platform.node(),
            "store": str(self._path.resolve().parents[1]),
        }

    def _left(self, total: int, ended: int, running: Sequence[str]) -> float | None:
        """The seconds that are left: confirmed trials stop early, so those of each phase are estimated by their own."""
        study, slots = self._plan.study if self._plan else None, self.slots()
        confirmed = len(self._plan.states) * len(study.seeds) if self._plan and study else 0
        trials = {"tune": total - confirmed - self._ended["tune"], "confirm": confirmed - self._ended["confirm"]}
        own = {phase: [name for name in running if f"-{phase}-" in name] for phase in PHASES}
        each = [self._remaining[phase].seconds(trials[phase], own[phase], slots) for phase in PHASES if trials[phase]]
        known = [seconds for seconds in each if seconds is not None]
        return (
            sum(known)
            if known and len(known) == len(each)
            else self._remaining[""].seconds(total - ended, running, slots)
        )

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


def _since(started: str) -> float:
    """Seconds since a time in ISO 8601; 0 without one."""
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds()) if started else 0.0


class Remaining:
    """Estimates the seconds that are left.

    Parameters
    ----------
    now : a clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._took: list[float] = []  # seconds of the trials that ended
        self._begun: dict[str, float] = {}  # trial -> when it was first heard of
        self._first: dict[str, tuple[float, float]] = {}  # trial -> (share done, time) at its first evaluation
        self._last: dict[str, tuple[float, float]] = {}  # the same when it was last heard of

    def evaluated(self, trial: str, share: float) -> None:
        """Note how much of a running trial is done, from 0 to 1."""
        self._last[trial] = (share, self._now())
        self._first.setdefault(trial, self._last[trial])
        self._begun.setdefault(trial, self._now())

    def ended(self, trial: str, seconds: float | None, since: float = 0.0) -> None:
        """Note that a trial ended.

        Parameters
        ----------
        seconds : of its training; None: it was not run now, so its time says nothing.
        since : seconds since its worker began with it. Before the training it reads models and fits starts. Before
            that it may have waited for a node, which says nothing; and the worker may be one of an earlier sweep.
        """
        begun = self._begun.pop(trial, self._now())
        self._first.pop(trial, None)
        self._last.pop(trial, None)
        if seconds is not None:
            self._took.append(max(seconds, min(since, self._now() - begun)))

    def seconds(self, trials: int, running: Sequence[str], slots: int) -> float | None:
        """The seconds until `trials` trials have ended, of which `running` run; None before a trial's time is known.

        Parameters
        ----------
        slots : trials that run at the same time.
        """
        now = self._now()
        for trial in running:
            self._begun.setdefault(trial, now)
        heard = [self._last.setdefault(trial, (0.0, now)) for trial in running]
        each = self._each()
        if each is None:
            return None
        done = sum(min(1.0, share + (now - since) / max(each, 1e-9)) for share, since in heard)
        return each * max(0.0, trials - done) / max(1, min(slots, trials))

    def _each(self) -> float | None:
        """Seconds that a trial takes: the mean of those that ended, else by the pace between two evaluations."""
        took = self._took or [
            (end - start) / (last - first)
            for trial, (first, start) in list(self._first.items())
            for last, end in [self._last.get(trial, (first, start))]
            if last > first
        ]
        return sum(took) / len(took) if took else None
