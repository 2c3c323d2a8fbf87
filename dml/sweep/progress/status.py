"""The progress of a store's sweeps, also while they run."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from dml.files import read_json
from dml.sweep.progress.text import line, table
from dml.sweep.store.storages import sweeps_there

STALE_SECONDS = 60


def describe(store: Path, storages: Iterable[str] = ()) -> list[str]:
    """One line per study that was swept into this store, the latest last, after those that only a storage knows.

    Parameters
    ----------
    storages : URIs of `resources.storage`, whose sweeps may be other machines'.
    """
    here = list(_found(store))
    known = {(now["study"], now.get("host", platform.node())) for now in here}
    lines = []
    for storage in storages:
        try:
            there = [now for now in sweeps_there(storage) if (now["study"], now["host"]) not in known]
        except (OSError, ValueError) as error:
            lines.append(str(error))
            continue
        lines += [f"{line(now)} (on {now['host']}, in {storage})" for now in there]
    return [*lines, *map(line, here)]


def live(store: Path, seconds: float) -> None:
    """Show the progress until KeyboardInterrupt: on a terminal running sweeps as tables, everything else as lines.

    Parameters
    ----------
    seconds : between two looks at the store.
    """
    console = Console()
    if not console.is_terminal:
        while True:
            print("\n".join(describe(store)) or f"no sweep has run in {store}", flush=True)
            time.sleep(seconds)
    with Live(console=console, auto_refresh=False, screen=False) as display:
        while True:
            display.update(_shown(store), refresh=True)
            time.sleep(seconds)


def _shown(store: Path) -> Group:
    found = [table(now) if now["state"] == "running" else line(now) for now in _found(store)]
    return Group(*(found or [f"no sweep has run in {store}"]))


def _found(store: Path) -> Iterator[dict[str, Any]]:
    """The latest state of each study, the latest last."""
    found = [now for path in Path(store).glob("sweeps/*.json") if isinstance(now := read_json(path), dict)]
    here = platform.node()
    own = {id(now): now.get("host", here) == here for now in found}
    # Other nodes' clocks may be apart, so their times are neither compared with this one's nor with each other's.
    for now in sorted(found, key=lambda now: (own[id(now)], now.get("host", here), now["updated"])):
        age = time.time() - now["updated"]
        stale = own[id(now)] and now["state"] == "running" and age > STALE_SECONDS
        yield {**now, "state": f"no update for {age:.0f} s"} if stale else now
