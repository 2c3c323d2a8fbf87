"""Where a packed folder may be put: never where it would replace what packing did not write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dml.data import DataError
from dml.data._store import load_json

FILES = ("images.npy", "index.parquet", "manifest.json", "origin.json")
EXPECTED = "expected a new or empty folder, or one that `pack` wrote"


def check_apart(source: Any, raw: Path, out: Path) -> None:
    """Raise a DataError where `out` is, or holds, the folder of the raw files or the source's own root."""
    for what, folder in (("raw folder", raw), ("root", getattr(source, "root", None))):
        if folder is not None and out.resolve() in (Path(folder).resolve(), *Path(folder).resolve().parents):
            raise DataError(f"out is {out}, which would replace the {what} {folder}: {EXPECTED}, outside of it")


def check_place(out: Path) -> None:
    """Raise a DataError where there is something at `out` that `pack` did not write."""
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir():
        raise DataError(f"{out}: {EXPECTED}, found a file, which is left as it is; choose another `out`")
    there = sorted(path.name for path in out.iterdir())
    strange = [name for name in there if name not in FILES]
    if strange or (there and not _ours(out)):
        found = ", ".join((strange or there)[:3]) + (", ..." if len(strange) > 3 else "")
        raise DataError(f"{out}: {EXPECTED}, found {found}: nothing is deleted; choose another `out`")


def _ours(folder: Path) -> bool:
    contents = (load_json(folder / "manifest.json"), load_json(folder / "origin.json"))
    return any(isinstance(c, dict) and key in c for c, key in zip(contents, ("packing", "code"), strict=True))
