"""A sweep's progress: a live table on a terminal, plain lines elsewhere, and a status file for `dml.sweep.status`."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table

from dml.files import write_text
from dml.sweep.cells import Job
from dml.sweep.plan import Plan
from dml.sweep.store import FAILED, FINISHED, PRUNED, Outcome

LINE_SECONDS = 10.0  # between two plain lines
TICK_SECONDS = 1.0


class Sender(Protocol):
    """Anything that sends records to the tracking server."""

    @property
    def unsent(self) -> int:
        """The number of records that are not sent yet."""
        ...


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
        self._counts = {FINISHED: 0, FAILED: 0, PRUNED: 0}
        self._reused = self._resumed = 0
        self._seconds: list[float] = []
        self._best: dict[str, float] = {}
        self._started = time.time()
        self._state = "starting"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, name="progress", daemon=True)
        self._tracking: Sender | None = None

    def watch(self, plan: Plan, tracking: Sender) -> None:
        """Start to display a plan's trials, and the number of records that are not sent yet."""
        self._plan, self._tracking, self._state = plan, tracking, "running"
        self._thread.start()

    def ended(self, job: Job, outcome: Outcome, reused: bool) -> None:
        """Count a trial that ended."""
        self._counts[outcome.status] += 1
        self._reused += reused
        if not reused:
            self._seconds.append(outcome.seconds)
        if job.phase == "tune" and outcome.status == FINISHED:
            value = outcome.scores.get(self._plan.objective(job)) if self._plan else None
            if value is not None:
                self._best[job.cell.name] = max(value, self._best.get(job.cell.name, value))

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
        cells = plan.cells if plan else []
        left = None
        if self._seconds and plan:
            left = sum(self._seconds) / len(self._seconds) * max(0, total - ended) / max(1, self.slots())
        return {
            "study": self._study,
            "state": self._state,
            "cells": len(cells),
            "cells_done": sum(cell.done for cell in cells),
            "trials": total,
            **self._counts,
            "reused": self._reused,
            "resumed": self._resumed,
            "running": len(plan.running) if plan else 0,
            "gpus": self.gpus(len(plan.running)) if plan else "",
            "unsent": self._tracking.unsent if self._tracking else 0,
            "elapsed": time.time() - self._started,
            "left": left,
            "best": dict(sorted(self._best.items(), key=lambda item: -item[1])),
            "updated": time.time(),
        }

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


def line(now: dict[str, Any]) -> str:
    """A snapshot as one line of text."""
    left = f", about {_duration(now['left'])} left" if now["left"] and now["state"] == "running" else ""
    best = next(iter(now["best"].items()), None)
    parts = [
        f"{now['cells_done']}/{now['cells']} cells",
        f"{now[FINISHED] + now[FAILED] + now[PRUNED]}/{now['trials']} trials",
        f"{now['running']} running" if now["state"] == "running" else now["state"],
    ]
    parts += [f"{now[name]} {word}" for name, word in _NOTES.items() if now[name]]
    if now["gpus"] and now["state"] == "running":
        parts.append(now["gpus"])
    if best:
        parts.append(f"best {best[1]:.3f} ({best[0]})")
    return f"{now['study']}: {', '.join(parts)}; {_duration(now['elapsed'])}{left}"


def table(now: dict[str, Any]) -> Table:
    """A snapshot as a table, with the best cells so far."""
    shown = Table(title=line({**now, "best": {}}), title_justify="left", show_header=bool(now["best"]), expand=False)
    shown.add_column("best cells so far, by validation score")
    shown.add_column("score", justify="right")
    for name, score in list(now["best"].items())[:8]:
        shown.add_row(name, f"{score:.3f}")
    return shown


_NOTES = {
    FAILED: "failed",
    PRUNED: "pruned",
    "reused": "already done",
    "resumed": "resumed after a worker died",
    "unsent": "waiting to be sent to MLflow",
}


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
