"""Files below a folder, links followed, and what they are like without reading them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from dml.data import DataError


def files_below(folder: Path, above: tuple[tuple[int, int], ...] = ()) -> Iterator[Path]:
    """Every file by name, links to files and folders followed; names that begin with a dot are left out.

    Raises
    ------
    DataError : a folder cannot be read, or a link leads back to a folder that it lies in.
    """
    try:
        state = folder.stat()
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from error
    here = (state.st_dev, state.st_ino)
    if here in above:
        raise DataError(f"{folder}: expected folders that end, found a link back to a folder it lies in; remove it")
    for name, is_folder in found:
        if is_folder:
            yield from files_below(folder / name, (*above, here))
        else:
            yield folder / name


def content_of(raw: Path, out: Path, marker: str) -> str:
    """Changes when a raw folder's files are others: by their names and sizes, and by what the file `marker` says.

    What packing itself writes (`out`), and files of downloads under way, are no part of it.
    """
    digest = hashlib.sha256()
    raw, out = raw.resolve(), out.resolve()
    for path in files_below(raw) if raw.is_dir() else ():
        if path.suffix in (".lock", ".part") or out in path.parents:
            continue
        size = path.stat().st_size if path.is_file() else None
        digest.update(f"{path.relative_to(raw).as_posix()}|{size}\n".encode("utf-8", "surrogateescape"))
        if path == raw / marker:
            digest.update(path.read_bytes())
    return digest.hexdigest()
