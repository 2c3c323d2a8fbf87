"""The progress of a store's sweeps, also while they run."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dml.files import read_json

SHOWN = 8  # cells
ENDED = ("finished", "failed")  # as in `dml.sweep.store.trials`, which imports torch


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
    "reused": "already done",
    "resumed": "resumed after a worker died",
}


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


STALE_SECONDS = 60


def describe(store: Path) -> list[str]:
    """One line per study that was swept into this store, the latest last."""
    return list(map(line, _found(store)))


def live(store: Path, seconds: float) -> None:
    """Show the progress until KeyboardInterrupt: on a terminal running sweeps as tables, everything else as lines.

    Parameters
    ----------
    seconds : between two looks at the store.
    """
    console = Console()
    with Live(console=console, auto_refresh=False) if console.is_terminal else nullcontext() as display:
        while True:
            none = f"no sweep has run in {store}"
            if display is None:
                print("\n".join(describe(store)) or none, flush=True)
            else:
                shown = [table(now) if now["state"] == "running" else Text(line(now)) for now in _found(store)]
                display.update(Group(*(shown or [Text(none)])), refresh=True)
            time.sleep(seconds)


def _found(store: Path) -> Iterator[dict[str, Any]]:
    """The latest state of each study, the latest last."""
    states = [state for path in Path(store).glob("sweeps/*.json") if isinstance(state := read_json(path), dict)]
    for state in sorted(states, key=lambda state: state["updated"]):
        age = time.time() - state["updated"]
        here = state.get("host") in (None, platform.node())  # another node's clock may be apart
        stale = here and state["state"] == "running" and age > STALE_SECONDS
        yield {**state, "state": f"no update for {age:.0f} s"} if stale else state
