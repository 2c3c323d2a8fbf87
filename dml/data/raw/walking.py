"""List the files below a folder, and detect when they change without reading them."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dml.counting import counted
from dml.data import DataError
from dml.discovery import installed

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
    """Every file and folder in the order of names, and whether it is a folder. Hidden ones are left out."""
    try:
        state = folder.stat()
        with os.scandir(folder) as entries:
            names = sorted((entry.name, _is_folder(entry)) for entry in entries if not is_hidden(entry.name))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from error
    here = (state.st_dev, state.st_ino)
    if here in parents:
        raise DataError(f"{folder}: found a link back to a folder that contains it; remove the link")
    for name, is_folder in names:
        yield folder / name, is_folder
        if is_folder:
            yield from entries_below(folder / name, (*parents, here))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return os.path.isdir(entry) if entry.is_symlink() else entry.is_dir()  # a link to itself raises in is_dir


def check_text(path: Path) -> Path:
    """The path, if tables and pages can contain it. Raises DataError."""
    if any("\ud800" <= char <= "\udfff" for char in str(path)):  # how Python shows bytes that it cannot decode
        raise DataError(f"{os.fsencode(path)!r}: the name is not UTF-8: rename it")
    return path


def state_of(path: Path) -> str:
    """A line that changes if a file of the user's is rewritten."""
    state = path.stat() if path.is_file() else None
    return f"{path}|{state and (state.st_size, state.st_mtime_ns)}\n"


def content_of(raw: Path, out: Path) -> str:
    """A digest of the names and sizes of the files in a raw folder, and of what its download verified."""
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


SUFFIXES = (
    *(".avif", ".bmp", ".dib", ".gif", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg"),
    *(".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"),
)
"""How the names of images end, in small letters."""

HEIC = (".heic", ".heif", ".hif")
"""Of images that the package `pillow_heif` reads (the extra `heic`)."""


class ImageFiles(NamedTuple):
    """The images below a folder."""

    paths: list[Path]  # in the order of folders and names
    left_out: str  # what to tell the user of other files, and of folders without images; "" if there are none


@cache
def suffixes() -> tuple[str, ...]:
    """How the names of images end that can be read here, in small letters."""
    return SUFFIXES + HEIC if installed("pillow_heif") else SUFFIXES


def is_image(path: Path) -> bool:
    """Whether a file's name ends as that of an image."""
    return path.name.lower().endswith(suffixes())


def image_files(folder: Path) -> ImageFiles:
    """The images below a folder, and what is left out. Raises DataError as `files_below` and `check_text`."""
    paths, folders, endings = [], [], Counter[str]()
    for path, is_folder in entries_below(folder):
        if is_folder:
            folders.append(path)
        elif is_image(path):
            paths.append(check_text(path))
        else:
            endings[path.suffix.lower()] += 1
    filled = {folder, *(above for parent in {path.parent for path in paths} for above in (parent, *parent.parents))}
    empty = [path.relative_to(folder).as_posix() for path in folders if path not in filled and path.parent in filled]
    texts = []
    if endings:
        counts = [f"{number:,} {ending or 'without an ending'}" for ending, number in endings.most_common()]
        verb = "are" if endings.total() > 1 else "is"
        texts.append(f"{counted(endings.total(), 'file')} {verb} left out, not named as an image: {named(counts)}")
    if empty:
        texts.append(f"{counted(len(empty), 'folder')} without an image: {named(empty)}")
    return ImageFiles(paths, ". ".join(texts))


def named(texts: Iterable[str], most: int = 10) -> str:
    """The first texts, with escapes where they could not be printed, and how many more there are."""
    shown = [text if text.isprintable() else ascii(text)[1:-1] for text in texts]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
