"""A snapshot of a sweep's progress as text. Imports nothing heavy, so that `dml status` answers at once."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from typing import Any

from rich.table import Table

SHOWN = 8  # cells
ENDED = ("finished", "failed", "pruned")  # as in `dml.sweep.store.trials`, which imports torch


def line(now: dict[str, Any]) -> str:
    """A snapshot as one line of text."""
    left = f", about {_duration(now['left'])} left" if now["left"] and now["state"] == "running" else ""
    best = next(iter(now["best"].items()), None)
    parts = [
        f"{now['cells_done']}/{now['cells']} cells",
        f"{sum(now[name] for name in ENDED)}/{now['trials']} trials",
        f"{now['running']} running" if now["state"] == "running" else now["state"],
    ]
    parts += [f"{now[name]} {word}" for name, word in _NOTES.items() if now[name]]
    if now["gpus"] and now["state"] == "running":
        parts.append(now["gpus"])
    if best:
        parts.append(f"best {best[1]:.3f} ({best[0]})")
    return f"{now['study']}: {', '.join(parts)}; {_duration(now['elapsed'])}{left}"


def table(now: dict[str, Any]) -> Table:
    """A snapshot as a table, with the best cells so far of each dataset and noise level: others do not compare."""
    shown = Table(title=line({**now, "best": {}}), title_justify="left", show_header=bool(now["best"]), expand=False)
    shown.add_column("best cells so far, by validation score")
    shown.add_column("score", justify="right")
    groups = [list(names) for _, names in groupby(now["best"], _compared)]
    for names in groups[:SHOWN]:
        for name in names[: max(1, SHOWN // len(groups))]:
            shown.add_row(name, f"{now['best'][name]:.3f}")
        shown.add_section()
    return shown


def _compared(name: str) -> list[str]:
    """Of a cell's name the dataset, the noise level and the class split: scores compare where these are the same."""
    parts = name.split("|")
    return [*parts[:2], *(part for part in parts[2:] if part.startswith("split-"))]


_NOTES = {
    "failed": "failed",
    "pruned": "pruned",
    "reused": "already done",
    "resumed": "resumed after a worker died",
}


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
