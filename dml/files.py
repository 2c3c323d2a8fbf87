"""Atomic writes, file locks, digests, YAML, errors of a user's data, and the studies that params.yaml lists."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

POLL_SECONDS = 0.2
SPARE = 64 * 2**20  # bytes to keep free: for the index, the manifest and the small files of other processes
LONGEST_NAME = 100  # bytes of what a user calls something: names of files have it, and others add to it
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
LFS = b"version https://git-lfs.github.com/spec/"  # https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md


class DataError(ValueError):
    """Data that cannot be used. The message names the file and says what to do."""


class Locked(RuntimeError):
    """Another process holds a lock. `holder` is its process id, or an empty string."""

    def __init__(self, path: Path, holder: str):
        super().__init__(f"{path}: locked by process {holder or '?'}")
        self.holder = holder


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and move it to `path` when the block ends without an error.

    Readers see the old file or the new one, never a part of it, also after a crash. The folder is created if missing.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        move(temporary, path)
    except Exception as error:
        if is_disk_full(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def is_disk_full(error: Exception) -> bool:
    """Whether an error says that a disk, or a user's share of it, is full."""
    return getattr(error, "errno", None) in DISK_FULL or os.strerror(errno.ENOSPC) in str(error)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically, with sorted keys: equal contents give equal bytes."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True) + "\n")


def yaml_text(content: Any, **options: Any) -> str:
    """YAML that version 1.1 (PyYAML) and version 1.2 (DVC) read alike.

    PyYAML leaves `1e3`, `0o17` and `09` without quotes, which are numbers in version 1.2 only.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes each text that begins as a number does."""

    def represent(dumper: Dumper, text: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, "'" if text[:1] in "0123456789+-." else None)

    Dumper.add_representer(str, represent)
    return yaml.dump(content, Dumper=Dumper, sort_keys=False, **options)


def read_json(path: Path) -> Any:
    """The content of a JSON file; None if the file is missing or is not JSON in UTF-8."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return None


def remembered(path: Path, what: Any, inputs: Iterable[Path], make: Callable[[], Any]) -> Any:
    """What `make` returns, plain JSON, from the file `path` if that was made of the same."""
    tops = [Path(__file__).parent, *inputs]
    files = [file for top in tops for file in (top, *top.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
    states = sorted((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    digest = hashlib.sha256(json.dumps([what, states]).encode()).hexdigest()
    before = read_json(path)
    if isinstance(before, dict) and before.get("of") == digest:
        return before["content"]
    content = make()
    with suppress(OSError):  # a project that cannot be written is answered too
        write_json(path, {"of": digest, "content": content})
    return content


def check_writable(path: Path) -> None:
    """Raise an OSError that names `path` if no file can be written there. Creates its folder if that is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def cache() -> Path:
    """Where features are kept that every project finds: `DML_CACHE`, or `dml` in the user's folder of caches."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "dml")
    return Path(os.environ.get("DML_CACHE") or usual)


def sha256(path: Path) -> str:
    """SHA-256 of a file, read again only if its time or size has changed."""
    state = path.stat()
    return _sha256(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _sha256(path: Path, modified: int, size: int) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file is git-LFS's pointer to the file, as a clone without `git lfs pull` has it."""
    with path.open("rb") as file:
        return file.read(len(LFS)) == LFS


def move(finished: Path, path: Path) -> None:
    """Flush a file or folder to the disk and rename it to `path` on the same disk. A file replaces an older one."""
    sync(finished)
    os.replace(finished, path)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, *, wait: bool = True, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold an exclusive lock on the file `path`, which is created if missing and contains the holder's process id.

    The kernel releases the lock when its process ends, however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False, fallback_to_soft=False)  # a soft lock would outlive a killed process
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if not wait:
            holder = ""
            with suppress(OSError):  # Windows lets nobody read or write a locked file
                holder = path.read_text(encoding="utf-8")
            raise Locked(path, holder) from None
        if on_wait is not None:
            on_wait()
        lock.acquire(poll_interval=POLL_SECONDS)
    try:
        with suppress(OSError):
            path.write_text(str(os.getpid()), encoding="utf-8")
        yield
    finally:
        lock.release()


def first_line(error: Exception) -> str:
    """The type of another library's error and the first line of its message, without a terminal's escape codes."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(error)).strip()
    return ": ".join([type(error).__name__, *text.splitlines()[:1]])


def explain(error: Exception, again: str = "it again") -> str:
    """An error's message for a user: what went wrong and, for a full disk, what to do."""
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        where = f" while writing {error.filename}" if error.filename else ""
        return f"the disk is full{where}. Free some space and run {again}: finished work is kept."
    return str(error) or type(error).__name__


def is_study_name(name: str) -> bool:
    """Whether a study may have a name: files have it in their names, and a shell calls stages with it.

    `.lock` and `.journal` are endings of another study's files, and the three names are pages of the report.
    """
    fits = re.fullmatch(r"(?!_(?:index|claims|theory)$)\w[\w.-]*(?<!\.lock)(?<!\.journal)", name)
    return fits is not None and len(name.encode()) <= LONGEST_NAME


def study_files(folder: Path) -> list[Path]:
    """The files of the studies in a folder, sorted, without what editors and network disks leave there (`._x.yaml`)."""
    return sorted(folder.glob("[!.]*.yaml"))


def listed(params: Path) -> list[str]:
    """The studies that params.yaml lists. Raises ValueError if it has no list of names."""
    import yaml

    content = yaml.safe_load(params.read_text(encoding="utf-8"))
    names = content.get("studies") if isinstance(content, dict) else content
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        quotes = "; a name that YAML reads as something else has quotes" if isinstance(names, list) else ""
        raise ValueError(f"{params.name}: studies: expected a list of names, got {names!r}{quotes}")
    return names


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise a DataError unless the disk of `folder` has `needed` bytes free, and 64 MiB more."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise DataError(
            f"{what}: no space left on the disk of {folder}: {(needed + SPARE) / 2**20:.0f} MB are needed, "
            f"{free / 2**20:.0f} MB are free"
        )
