"""A sweep's progress: a line now and then, and a file that `dml status` reads."""

from __future__ import annotations

import json
import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from dml.config.for_use import comparable
from dml.files import write_text
from dml.losses import closed_form_of
from dml.sweep.plan import cells
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.progress.status import line
from dml.sweep.store.trials import FAILED, FINISHED, Outcome
from dml.types import Cell

LINE_SECONDS = 10.0  # between two plain lines
TICK_SECONDS = 1.0
PHASES = ("tune", "confirm")


class SweepProgress:
    """Counts the trials that ended, and displays them from its own thread."""

    def __init__(self, study: str, path: Path):
        self._study, self._path = study, path
        self.slots: Callable[[], int] = lambda: 1  # parallel trials, to estimate the remaining time
        self._plan: Plan | None = None
        self._counts = {FINISHED: 0, FAILED: 0}
        self._reused = self._resumed = 0
        self._ended: Counter[tuple[int, str]] = Counter()  # trials by their cell and phase
        self._seconds: dict[tuple[int, str], list[float]] = {}  # of those that ran now
        self._begun: dict[str, float] = {}  # when trials were first seen to run
        self._best: tuple[str, float] | None = None  # the best cell so far by validation score, of the first split
        self._compared: set[int] = set()  # positions of cells whose scores compare: those of the first group
        self._started = time.monotonic()
        self._state = "starting"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, name="progress", daemon=True)

    def watch(self, plan: Plan) -> None:
        """Start to display a plan's trials."""
        self._plan, self._state = plan, "running"
        self._compared = set(next(iter(comparable(plan.cells).values())))
        self._thread.start()

    def ended(self, job: Job, outcome: Outcome, reused: bool) -> None:
        """Count a trial that ended."""
        self._counts[outcome.status] += 1
        self._reused += reused
        self._ended[job.index, job.phase] += 1
        if _trains(job.cell) and not reused:  # a closed form takes no time, and would say so of those that train
            self._seconds.setdefault((job.index, job.phase), []).append(outcome.seconds)
        if self._plan is not None and job.phase == "tune" and outcome.status == FINISHED and job.split == 0:
            value = cells.value(self._plan.study, job, outcome)
            compared = job.index // self._plan.study.splits in self._compared
            if compared and value is not None and (self._best is None or value > self._best[1]):
                self._best = job.cell.name, value

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
        states = plan.states if plan else []
        return {
            "study": self._study,
            "state": self._state,
            "cells": len(states),
            "cells_done": sum(state.done for state in states),
            "trials": plan.total if plan else 0,
            **self._counts,
            "reused": self._reused,
            "resumed": self._resumed,
            "running": len(plan.running) if plan else 0,
            "elapsed": time.monotonic() - self._started,
            "left": self._left(),
            "best": self._best,
            "updated": time.time(),
            "host": platform.node(),
            "store": str(self._path.resolve().parents[1]),
        }

    def _left(self) -> float | None:
        """The seconds that are left. A trial takes as long as those of its cell that ended, else as those of others."""
        if self._plan is None or not self._seconds:
            return None
        now, jobs = time.monotonic(), dict(self._plan.running)  # a copy: another thread changes it
        self._begun = {key: self._begun.get(key, now) for key in jobs}
        means = {key: fmean(seconds) for key, seconds in dict(self._seconds).items()}
        of_phase = {phase: [mean for (_, of), mean in means.items() if of == phase] for phase in PHASES}
        both = [index for index, phase in means if phase == "confirm" and (index, "tune") in means]
        tuned, confirmed = (sum(means[index, phase] for index in both) for phase in PHASES)
        as_tuned = confirmed / tuned if tuned else 1.0  # how long a confirmed trial takes
        each: dict[tuple[int, str], float] = {}
        left = []
        for state in self._plan.states:
            count = {"tune": state.strategy.trials if state.strategy else 0, "confirm": len(self._plan.study.seeds)}
            lost = state.done and not state.confirmed  # all trials of its search failed
            for phase in PHASES if _trains(state.cell) and not lost else ():
                key, as_own = (state.index, phase), means.get((state.index, "tune"), 0.0) * as_tuned
                each[key] = means.get(key) or as_own or fmean(of_phase[phase] or means.values())
                left += [each[key]] * (count[phase] - self._ended[key])
        running = [(each.get((job.index, job.phase), 0.0), self._begun[key]) for key, job in jobs.items()]
        done = sum(min(now - begun, seconds) for seconds, begun in running)
        return max(0.0, sum(left) - done) / max(1, min(self.slots(), len(left)))

    def _show(self) -> None:
        last, ends = time.monotonic(), False
        while not ends:
            ends = self._stop.wait(TICK_SECONDS)
            if ends or time.monotonic() - last >= LINE_SECONDS:
                last = time.monotonic()
                print(line(self.snapshot()), flush=True)
            try:
                write_text(self._path, json.dumps(self.snapshot()))
            except OSError as error:  # a missing status file must not end the sweep
                print(f"status file: {error}", file=sys.stderr)


def _trains(cell: Cell) -> bool:
    return closed_form_of(cell.loss.name) is None
