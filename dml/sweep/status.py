"""Prints the progress of a store's sweeps, also while they run: `python -m dml.sweep.status [store]`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from dml.sweep.progress import line

STALE_SECONDS = 60


def describe(store: Path) -> list[str]:
    """One line per study that was swept into this store, the latest last."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in Path(store).glob("sweeps/*.json")]
    lines = []
    for now in sorted(found, key=lambda now: now["updated"]):
        age = time.time() - now["updated"]
        stale = now["state"] == "running" and age > STALE_SECONDS
        lines.append(line({**now, "state": f"no update for {age:.0f} s"} if stale else now))
    return lines


def main() -> None:
    """Print the progress of all sweeps."""
    store = Path(sys.argv[1] if len(sys.argv) > 1 else "store")
    print("\n".join(describe(store)) or f"no sweep has run in {store}")


if __name__ == "__main__":
    main()
