"""List the files below a folder, and detect when they change without reading them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from dml.data import DataError

MARKER = "verified.json"  # written into a raw folder by a verified download
UNFINISHED = (".lock", ".part")
HIDDEN = (
    *("thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"),
    *("__macosx", "@eadir", "#recycle", "@recycle", "$recycle.bin"),
)
"""What Windows, macOS and network disks leave in folders, in small letters."""


def is_hidden(name: str) -> bool:
    """Whether a file or folder is none of the user's: it begins with a dot, or a system left it."""
    return name.startswith(".") or name.lower() in HIDDEN


def files_below(folder: Path) -> Iterator[Path]:
    """Every file in the order of names. Raises as `entries_below`."""
    return (path for path, is_folder in entries_below(folder) if not is_folder)


def entries_below(folder: Path, parents: tuple[tuple[int, int], ...] = ()) -> Iterator[tuple[Path, bool]]:
    """Every file and folder in the order of names, and whether it is a folder. Links are followed, hidden ones are not.

    Raises
    ------
    DataError : a folder cannot be read, or a link leads back to one of its parent folders.
    """
    try:
        state = folder.stat()
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if not is_hidden(entry.name))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from error
    here = (state.st_dev, state.st_ino)
    if here in parents:
        raise DataError(f"{folder}: found a link back to a folder that contains it; remove the link")
    for name, is_folder in found:
        yield folder / name, is_folder
        if is_folder:
            yield from entries_below(folder / name, (*parents, here))


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
