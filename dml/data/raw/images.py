"""The images below a user's folder: files whose names end as those of images do. What else is there is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dml.counting import counted
from dml.data.raw.walking import check_text, entries_below
from dml.discovery import installed

SUFFIXES = (
    *(".avif", ".bmp", ".dib", ".gif", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg"),
    *(".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"),
)
"""How the names of images end, in small letters."""

HEIC = (".heic", ".heif", ".hif")
"""Of images that the package `pillow_heif` reads (the extra `heic`)."""

INSTALL_HEIC = "pip install 'noisy-dml[heic]' reads them"
SHOWN = 10  # endings and folders that a message names


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


def image_files(folder: Path, others: Container[str] = ()) -> ImageFiles:
    """The images below a folder, and what is left out. Raises DataError as `files_below` and `check_text`.

    Parameters
    ----------
    others : names of files that are no images and not left out.
    """
    paths, folders, endings = [], [], Counter[str]()
    for path, is_folder in entries_below(folder):
        if is_folder:
            folders.append(path)
        elif is_image(path):
            paths.append(check_text(path))
        elif path.name not in others:
            endings[path.suffix.lower()] += 1
    filled = {folder, *(above for parent in {path.parent for path in paths} for above in (parent, *parent.parents))}
    empty = [path.relative_to(folder).as_posix() for path in folders if path not in filled and path.parent in filled]
    return ImageFiles(paths, ". ".join(filter(None, [_of_endings(endings), _of_empty(empty)])))


def _of_endings(endings: Counter[str]) -> str:
    if not endings:
        return ""
    counts = [
        f"{number:,} {ending or 'without an ending'}{_advice(ending)}" for ending, number in endings.most_common()
    ]
    verb = "are" if endings.total() > 1 else "is"
    return f"{counted(endings.total(), 'file')} {verb} left out, not named as an image: {named(counts)}"


def _of_empty(folders: list[str]) -> str:
    return f"{counted(len(folders), 'folder')} without an image: {named(folders)}" if folders else ""


def _advice(ending: str) -> str:
    return f" ({INSTALL_HEIC})" if ending in HEIC else ""


def named(texts: Iterable[str]) -> str:
    """The first texts, with escapes where they could not be printed, and how many more there are."""
    shown = [text if text.isprintable() else ascii(text)[1:-1] for text in texts]
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more
