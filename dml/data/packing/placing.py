"""Where a packed folder may go, and how it gets there: atomically, and never over files of another origin."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dml import files
from dml.data import DataError
from dml.protocols import Source

FILES = ("images.npy", "index.parquet", "manifest.json", "origin.json")
EXPECTED = "expected a new or empty folder, or one that `pack` wrote"


def check_apart(source: Source, raw: Path, out: Path) -> None:
    """Raise a DataError if `out` is, or contains, the raw folder or the source's root."""
    for what, folder in (("raw folder", raw), ("root", source.root)):
        if folder is not None and out.resolve() in (Path(folder).resolve(), *Path(folder).resolve().parents):
            raise DataError(f"out is {out}, which would replace the {what} {folder}: {EXPECTED}, outside of it")


def check_place(out: Path) -> None:
    """Raise a DataError if `out` exists and `pack` did not write it."""
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir():
        raise DataError(f"{out}: {EXPECTED}, found a file, which is kept; choose another `out`")
    found = sorted(path.name for path in out.iterdir())
    strange = [name for name in found if name not in FILES]
    if strange or (found and not _written_by_pack(out)):
        shown = ", ".join((strange or found)[:3]) + (", ..." if len(strange) > 3 else "")
        raise DataError(f"{out}: {EXPECTED}, found {shown}: nothing is deleted; choose another `out`")


def _written_by_pack(folder: Path) -> bool:
    contents = (files.read_json(folder / "manifest.json"), files.read_json(folder / "origin.json"))
    return any(isinstance(c, dict) and key in c for c, key in zip(contents, ("packing", "files"), strict=True))


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out`. It is synced and renamed to `out` at the end, and deleted after an error."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for left in out.parent.glob(f".{out.name}.new-*"):  # from a killed process; the caller holds the lock
        shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
    temporary.chmod(0o755)
    try:
        yield temporary
        for path in [*temporary.rglob("*"), temporary]:
            files.sync(path)
        old = None
        if out.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
            out.rename(old / "old")
        temporary.rename(out)
        files.sync(out.parent)
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise DataError(f"{out}: no space left on the disk; no files are left behind") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
