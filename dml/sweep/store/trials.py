"""Trials on disk: `<store>/trials/<key>/` has a trial's spec, its checkpoint, and its outcome once it ended.

`result.json` is the outcome of a finished trial, `failed.json` that of a failure which is its result, such as a loss
that became NaN. With a storage, a trial counts as finished once the storage has its outcome.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dml.files import Locked, locked, read_json, write_text
from dml.sweep.store.remote import Remote

FINISHED, FAILED = "finished", "failed"
OUTCOMES = ("result.json", "failed.json")
TRIALS = "trials"
READERS = 16  # threads that read records of the storage


@dataclass(frozen=True)
class Outcome:
    """How a trial ended. `curve` is [[step, {score: value}], ...]; `error` is a traceback, empty unless it failed."""

    status: str
    scores: Mapping[str, float] = field(default_factory=dict)
    curve: list[Any] = field(default_factory=list)
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)  # histograms, such as of the drawn negatives' distances
    seconds: float = 0.0
    error: str = ""
    lasting: bool = True  # False: not stored, so another run retries the trial
    errno: int = 0  # of an OSError
    started: str = ""  # ISO 8601, UTC
    host: str = ""


class TrialStore:
    """Stores the outcomes of trials, and the folders of running ones.

    Parameters
    ----------
    root : a local folder (on a cluster without `storage`, one that all nodes share).
    storage : a URI that all nodes can read (`s3://...`, `gs://...`, `file:///...`). Trials are copied from and to it.
    snapshot_outcomes : by the first digits of trials' keys, all of one length; they count as stored.
    """

    def __init__(self, root: Path, storage: str | None = None, snapshot_outcomes: Mapping[str, Outcome] | None = None):
        self.root = Path(root).resolve()
        self.remote = Remote(storage) if storage else None
        self._there: dict[str, dict[str, int]] = {}  # key -> its files in the storage, as listed
        self._snapshot_outcomes = dict(snapshot_outcomes or {})
        self._digits = len(next(iter(self._snapshot_outcomes), ""))

    def look(self) -> TrialStore:
        """List the storage: from now on, what exists only there counts as stored. Returns this store."""
        self._there = {}
        if self.remote is not None:
            with self.remote.impatient():
                files = self.remote.list(TRIALS)
            for path, size in files.items():
                key, _, name = path.partition("/")
                self._there.setdefault(key, {})[name] = size
        return self

    def folder(self, key: str) -> Path:
        """A trial's folder."""
        return self.root / TRIALS / key

    def files_there(self, key: str, folder: str = "") -> dict[str, int]:
        """The names and bytes of a trial's files, or of those in one of its folders, in the listed storage."""
        start = f"{folder}/" if folder else ""
        return {name: size for name, size in self._there.get(key, {}).items() if name.startswith(start)}

    def read(self, key: str) -> Outcome | None:
        """The stored outcome of a trial; None if it did not end, or the file is a copy that was interrupted."""
        contents = (self._content(key, name) for name in OUTCOMES)
        stored = next((Outcome(**content) for content in contents if content is not None), None)
        return stored or self._snapshot_outcomes.get(key[: self._digits])

    def begin(self, key: str, record: str) -> None:
        """Write a trial's `spec.json`: the JSON whose digest is its key."""
        path = self.folder(key) / "spec.json"
        if read_json(path) is None:
            write_text(path, record)

    def records(self) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """(key, content of `spec.json`, whether the trial ended) of every trial, here or in the listed storage."""
        here = set()
        for path in sorted((self.root / TRIALS).glob("*/spec.json")):
            key = path.parent.name
            if (content := read_json(path)) is not None:
                here.add(key)
                yield key, content, self._ended_there(key) or self._ended_here(key)
        only_there = sorted(self._there.keys() - here)
        with ThreadPoolExecutor(READERS) as threads:
            contents = threads.map(lambda key: self._content(key, "spec.json"), only_there)
            for key, content in zip(only_there, contents, strict=True):
                if content is not None:
                    yield key, content, self._ended_there(key)

    def write(self, key: str, outcome: Outcome) -> None:
        """Store an outcome atomically, unless it is not lasting."""
        if outcome.lasting:
            name = "result.json" if outcome.status == FINISHED else "failed.json"
            write_text(self.folder(key) / name, json.dumps(asdict(outcome)))

    def pull(self, key: str) -> None:
        """Copy a trial's files from the storage, if it has any."""
        if self.remote is not None:
            self.remote.pull(f"{TRIALS}/{key}", self.folder(key))

    def push(self, key: str) -> None:
        """Copy a trial's files to the storage, and check that it keeps them."""
        if self.remote is not None:
            self.remote.push(self.folder(key), f"{TRIALS}/{key}")

    def push_missing(self, key: str) -> bool:
        """Copy a trial that ended here, and whose outcome the listed storage lacks, unless a worker runs it."""
        if self.remote is None or self._ended_there(key) or not self._ended_here(key):
            return False
        with suppress(Locked), locked(self.folder(key) / "lock", wait=False):
            self.push(key)
            return True
        return False

    def pull_folder(self, key: str, name: str) -> None:
        """Copy one folder of a trial from the listed storage, if it exists only there."""
        if self.remote is not None and not (self.folder(key) / name).is_dir() and self.files_there(key, name):
            half = self.folder(key) / f".{name}.half"
            shutil.rmtree(half, ignore_errors=True)
            self.remote.pull(f"{TRIALS}/{key}/{name}", half)
            half.rename(self.folder(key) / name)

    def _content(self, key: str, name: str) -> Any:
        """A JSON file of a trial, here or in the listed storage; None if it is missing or damaged."""
        content = read_json(self.folder(key) / name)
        if content is None and self.remote is not None and name in self._there.get(key, ()):
            content = self.remote.read_json(f"{TRIALS}/{key}/{name}")
        return content

    def _ended_here(self, key: str) -> bool:
        return any((self.folder(key) / name).is_file() for name in OUTCOMES)

    def _ended_there(self, key: str) -> bool:
        return any(name in self._there.get(key, ()) for name in OUTCOMES)

    def lock(self, key: str) -> AbstractContextManager[None]:
        """Lock a trial; waits while another process (such as a worker of a killed sweep) holds it."""
        return locked(self.folder(key) / "lock")


@contextmanager
def only_sweep(store: Path, study: str) -> Iterator[None]:
    """Lock a study's sweep."""
    try:
        with locked(Path(store) / "sweeps" / f"{study}.lock", wait=False):
            yield
    except Locked as error:
        raise RuntimeError(f"study {study!r}: process {error.holder or '?'} is running its sweep in {store}") from None
