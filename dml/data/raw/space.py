"""Check for free disk space before writing."""

from __future__ import annotations

import shutil
from pathlib import Path

from dml.files import DataError

SPARE = 64 * 2**20  # bytes to keep free: for the index, the manifest and the small files of other processes


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise a DataError unless the disk of `folder` has `needed` bytes free, and 64 MiB more."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise DataError(
            f"{what}: no space left on the disk of {folder}: {(needed + SPARE) / 2**20:.0f} MB are needed, "
            f"{free / 2**20:.0f} MB are free"
        )


def free_bytes(folder: Path) -> int:
    """Bytes that can be written to the disk of a folder, which need not exist yet."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return max(0, shutil.disk_usage(existing).free - SPARE)
