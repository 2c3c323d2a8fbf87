"""How the sweeps of a store stand: `python -m dml.sweep.status [store]`, from any shell while they run."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from dml.sweep.progress import line

STALE_SECONDS = 60


def describe(store: Path) -> list[str]:
    """One line per study swept into this store, the latest last."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in Path(store).glob("sweeps/*.json")]
    lines = []
    for now in sorted(found, key=lambda now: now["updated"]):
        silent = time.time() - now["updated"]
        gone = now["state"] == "running" and silent > STALE_SECONDS
        lines.append(line({**now, "state": f"not heard of for {silent:.0f} s"} if gone else now))
    return lines


def main() -> None:
    """Print the lines, or say that there are none."""
    store = Path(sys.argv[1] if len(sys.argv) > 1 else "store")
    print("\n".join(describe(store)) or f"no sweep has run in {store}")


if __name__ == "__main__":
    main()
