"""List the files below a folder, and detect when they change without reading them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from dml.data import DataError

MARKER = "verified.json"  # written into a raw folder by a verified download
UNFINISHED = (".lock", ".part")


def files_below(folder: Path, parents: tuple[tuple[int, int], ...] = ()) -> Iterator[Path]:
    """Every file in the order of names. Links are followed; names that begin with a dot are left out.

    Raises
    ------
    DataError : a folder cannot be read, or a link leads back to one of its parent folders.
    """
    try:
        state = folder.stat()
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from error
    here = (state.st_dev, state.st_ino)
    if here in parents:
        raise DataError(f"{folder}: found a link back to a folder that contains it; remove the link")
    for name, is_folder in found:
        if is_folder:
            yield from files_below(folder / name, (*parents, here))
        else:
            yield folder / name


def check_text(path: Path) -> Path:
    """The path, if tables and pages can contain it.

    Raises
    ------
    DataError : a name in it is not UTF-8.
    """
    if any("\ud800" <= char <= "\udfff" for char in str(path)):  # how Python shows bytes that it cannot decode
        raise DataError(f"{os.fsencode(path)!r}: the name is not UTF-8: rename it")
    return path


def state_of(path: Path) -> str:
    """A line that changes if a file of the user's is rewritten."""
    state = path.stat() if path.is_file() else None
    return f"{path}|{state and (state.st_size, state.st_mtime_ns)}\n"


def content_of(raw: Path, out: Path) -> str:
    """A digest of the names and sizes of the files in a raw folder, and of what its download verified.

    Files below `out`, which packing writes itself, and unfinished downloads do not count.
    """
    digest = hashlib.sha256()
    raw, out = raw.resolve(), out.resolve()
    for path in files_below(raw) if raw.is_dir() else ():
        if path.suffix in UNFINISHED or out in path.parents:
            continue
        size = path.stat().st_size if path.is_file() else None
        digest.update(f"{path.relative_to(raw).as_posix()}|{size}\n".encode("utf-8", "surrogateescape"))
        if path == raw / MARKER:
            digest.update(path.read_bytes())
    return digest.hexdigest()
