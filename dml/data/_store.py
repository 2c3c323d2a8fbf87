"""Files that are either whole or not there: a lock, a growing array, and a folder renamed into its place."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from dml.data import DataError

SPARE = 64 * 2**20  # bytes left free beside what is written: index, manifest, other processes' small files


@contextmanager
def locked(target: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Hold `<target>.lock`; a second process waits. The kernel frees it when a process dies."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_name(f"{target.name}.lock"), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"{target}: another process is at work on it; waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out`, synced and renamed to it at the end; gone after an error."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for left in out.parent.glob(f".{out.name}.new-*"):  # of a process that was killed; the caller holds the lock
        shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
    temporary.chmod(0o755)
    try:
        yield temporary
        for path in [*temporary.rglob("*"), temporary]:
            sync(path)
        old = None
        if out.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
            out.rename(old / "old")
        temporary.rename(out)
        sync(out.parent)
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise DataError(f"{out}: no space left on the disk; nothing is left behind") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync(path: Path) -> None:
    """fsync a file or folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise a DataError unless `needed` bytes, and some to spare, are free where `folder` lies."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise DataError(
            f"{what}: no space left on the disk of {folder}: {(needed + SPARE) / 2**20:.0f} MB are needed, "
            f"{free / 2**20:.0f} MB are free"
        )


def save_json(path: Path, content: Any) -> None:
    """Sorted keys: the same content gives the same bytes."""
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load_json(path: Path) -> Any:
    """None where there is no such file, or it is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):  # no UTF-8, no JSON
        return None


class NpyWriter:
    """Writes a .npy of uint8 image by image; the number of images is set at the end. `path=None` writes nothing.

    The header is as long for any smaller number, since NumPy pads it for an array that grows.
    """

    def __init__(self, path: Path | None, shape: tuple[int, ...]) -> None:
        self.path, self.shape, self.count = path, shape, 0

    def __enter__(self) -> NpyWriter:
        if self.path is not None:
            self.file = open(self.path, "wb", buffering=2**20)
            self._header(self.shape[0])
            self._start = self.file.tell()
        return self

    def write(self, pixels: bytes) -> None:
        """One image's pixels."""
        self.count += 1
        if self.path is not None:
            self.file.write(pixels)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.path is None:
            return
        try:
            if kind is None and self.count != self.shape[0]:
                self.file.seek(0)
                self._header(self.count)
                assert self.file.tell() == self._start
        finally:
            self.file.close()

    def _header(self, count: int) -> None:
        header = {"descr": "|u1", "fortran_order": False, "shape": (count, *self.shape[1:])}
        np.lib.format.write_array_header_1_0(self.file, header)
