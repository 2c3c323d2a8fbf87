"""The progress of a store's sweeps as lines of text, also while they run. Imports no torch, for `dml status`."""

from __future__ import annotations

import platform
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from dml.files import read_json

ENDED = ("finished", "failed")  # as in `dml.sweep.store.trials`, which imports torch
NOTES = {"failed": "failed", "reused": "already done", "resumed": "resumed after a worker died"}
STALE_SECONDS = 60


def line(now: dict[str, Any]) -> str:
    """A snapshot of `SweepProgress` as one line of text."""
    parts = [
        f"{now['cells_done']}/{now['cells']} cells",
        f"{sum(now[name] for name in ENDED)}/{now['trials']} trials",
        f"{now['running']} running" if now["state"] == "running" else now["state"],
    ]
    parts += [f"{now[name]} {word}" for name, word in NOTES.items() if now[name]]
    if now["best"]:
        name, score = now["best"]
        parts.append(f"best {score:.3f} ({name})")
    left = f", about {_duration(now['left'])} left" if now["left"] and now["state"] == "running" else ""
    return f"{now['study']}: {', '.join(parts)}; {_duration(now['elapsed'])}{left}"


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def describe(store: Path) -> list[str]:
    """One line per study that was swept into this store, the latest last."""
    states = [state for path in Path(store).glob("sweeps/*.json") if isinstance(state := read_json(path), dict)]
    lines = []
    for state in sorted(states, key=lambda state: state["updated"]):
        age = time.time() - state["updated"]
        here = state.get("host") in (None, platform.node())  # another node's clock may be apart
        stale = here and state["state"] == "running" and age > STALE_SECONDS
        lines.append(line({**state, "state": f"no update for {age:.0f} s"} if stale else state))
    return lines
