"""Copies a sweep's progress and list of trials to its storage, where other machines see them.

`sweeps/<owner>/<study>.json`, `.keys` and `.models` are those of `store/sweeps` on the driver's node. `dml status`
shows the first, `dml gc` never lists a trial of the storage that a `.keys` names, and no sweep deletes a model there
that another store's keeps.

Which trials of the store each study refers to: `store/sweeps/<study>.keys`, one key a line.

A sweep appends a key before its trial runs, or when it reuses its outcome. When the sweep ends, the file contains
exactly the keys of its results. So what no study refers to can be found without running any.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dml.files import write_text
from dml.sweep.store.remote import SLOW_SECONDS, Remote, StorageError, default_patience

SUFFIX = ".keys"
MODELS_SUFFIX = ".models"  # which of their models the study keeps and drops (`dml.sweep.retention`)


class References:
    """The keys of one study's trials.

    Parameters
    ----------
    store : the folder of trials.
    study : its name.
    """

    def __init__(self, store: Path, study: str):
        self._path = Path(store) / "sweeps" / f"{study}{SUFFIX}"
        self._known = _read(self._path)
        if self._path.is_file() and not self._path.read_bytes().endswith(b"\n"):
            self.replace(self._known)  # so that the next key begins a line

    def add(self, key: str) -> None:
        """Append a key, unless the file contains it."""
        if key not in self._known:
            self._known.add(key)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{key}\n")

    def replace(self, keys: Iterable[str]) -> None:
        """Make these the study's keys."""
        self._known = set(keys)
        write_text(self._path, "".join(f"{key}\n" for key in sorted(self._known)))


def known_keys(store: Path) -> dict[str, set[str]]:
    """The keys of each study that has a file."""
    return {path.name.removesuffix(SUFFIX): _read(path) for path in sorted((store / "sweeps").glob(f"*{SUFFIX}"))}


def _read(path: Path) -> set[str]:
    """The keys in a file. A last line that a crash cut short is ignored: its trial had not begun."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return set(text[: text.rfind("\n") + 1].split())


SWEEPS = "sweeps"
MIRROR_SECONDS = 15.0


def owner(store: Path) -> str:
    """The folder of a store's sweeps in a storage: its host's name, and a sign of its path, as a host may have more."""
    return f"{platform.node()}-{hashlib.sha256(str(store.resolve()).encode()).hexdigest()[:6]}"


@contextmanager
def mirrored(storage: str | None, store: Path, study: str) -> Iterator[None]:
    """Check a sweep's storage, and copy its files there while a block runs and when it ends. None: does nothing.

    Says on stderr if the storage is slow, does not answer for a while, and answers again.

    Raises
    ------
    StorageError : the storage cannot be used; the block does not begin.
    """
    if storage is None:
        yield
        return
    remote = Remote(storage, patience=0)
    seconds = Remote(storage).check()
    if seconds > SLOW_SECONDS:
        print(
            f"{remote.where} is slow: a small file took {seconds:.0f} s. Each evaluation of a trial writes its "
            "checkpoint there, so evaluate less often (evaluation.every), or use a closer one.",
            file=sys.stderr,
            flush=True,
        )
    mirror = _Mirror(remote, store, study)
    thread = threading.Thread(target=mirror.run, name="storage", daemon=True)
    thread.start()
    try:
        yield
    finally:
        mirror.ending.set()
        thread.join(timeout=2 * MIRROR_SECONDS)


class _Mirror:
    def __init__(self, remote: Remote, store: Path, study: str):
        self._remote, self._folder, self.ending = remote, f"{SWEEPS}/{owner(store)}", threading.Event()
        self._paths = [store / SWEEPS / f"{study}{suffix}" for suffix in (SUFFIX, MODELS_SUFFIX, ".json")]
        self._copied: dict[Path, bytes] = {}
        self._is_away = False

    def run(self) -> None:
        """Copy until the sweep ends, and once more then."""
        while not self.ending.wait(MIRROR_SECONDS):
            self._copy()
        self._copy()

    def _copy(self) -> None:
        try:
            for path in self._paths:
                content = path.read_bytes() if path.is_file() else b""
                if content and content != self._copied.get(path):
                    self._remote.write(f"{self._folder}/{path.name}", content)
                    if path not in self._copied:  # earlier versions wrote the host's, which nobody would write again
                        self._remote.delete_file(f"{SWEEPS}/{platform.node()}/{path.name}")
                    self._copied[path] = content
        except StorageError as error:
            if not self._is_away and not self.ending.is_set():
                print(f"{error}. Trials wait for it up to {default_patience():.0f} s.", file=sys.stderr, flush=True)
            self._is_away = True
        except OSError:  # of a disk: the next copy may succeed, and trials say what is wrong with it
            return
        else:
            if self._is_away:
                print(f"{self._remote.where} answers again", file=sys.stderr, flush=True)
            self._is_away = False
