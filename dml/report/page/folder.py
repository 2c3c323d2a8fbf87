"""Replaces a folder as a whole."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(out: Path) -> Iterator[Path]:
    """A new, empty folder that takes the place of `out` if the block succeeds. If it raises, `out` is unchanged."""
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
        fresh = Path(folder) / "new"
        fresh.mkdir()
        yield fresh
        if out.exists():
            out.rename(Path(folder) / "old")
        fresh.rename(out)
