"""Trials on disk: `<store>/trials/<key>/` holds a trial's checkpoint and, once it ended, its outcome.

`result.json` is a finished trial, `failed.json` one whose failure is its result (a loss that became NaN). Any other
failure (a full disk, an error in the code) is not kept: the next run tries again. A lock that the kernel releases with
its process keeps two workers from one trial.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dml.sweep.remote import Remote
from dml.training.checkpoint import replacing

FINISHED, FAILED, PRUNED = "finished", "failed", "pruned"


@dataclass(frozen=True)
class Outcome:
    """How a trial ended. `curve` is [[step, {score: value}], ...]; `error` a traceback, empty unless it failed."""

    status: str
    scores: Mapping[str, float] = field(default_factory=dict)
    curve: list[Any] = field(default_factory=list)
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""
    lasting: bool = True  # False: another run should try again
    errno: int = 0  # of an operating system's error
    started: str = ""  # ISO 8601, UTC
    host: str = ""


class TrialStore:
    """The trials that ended, and the folders of those under way.

    Parameters
    ----------
    root : a local folder (on a cluster without `storage`, one that all nodes share).
    storage : a URI that all nodes see (`s3://...`, `gs://...`, `file:///...`): trials are copied from and to it.
    """

    def __init__(self, root: Path, storage: str | None = None):
        self.root = Path(root).resolve()
        self._remote = Remote(storage) if storage else None

    def folder(self, key: str) -> Path:
        """A trial's own folder."""
        return self.root / "trials" / key

    def read(self, key: str) -> Outcome | None:
        """The outcome of a trial that ended for good, or None."""
        for name in ("result.json", "failed.json"):
            try:
                return Outcome(**json.loads((self.folder(key) / name).read_text(encoding="utf-8")))
            except FileNotFoundError:
                continue
        return None

    def write(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome, whole or not at all. One that is not lasting is left out."""
        if not outcome.lasting or outcome.status == PRUNED:
            return
        name = "result.json" if outcome.status == FINISHED else "failed.json"
        with replacing(self.folder(key) / name) as temporary:
            temporary.write_text(json.dumps(asdict(outcome)), encoding="utf-8")

    def pull(self, key: str) -> None:
        """Bring a trial's files from the storage, where there are any."""
        if self._remote is not None:
            self._remote.pull(f"trials/{key}", self.folder(key))

    def push(self, key: str) -> None:
        """Bring a trial's files to the storage."""
        if self._remote is not None:
            self._remote.push(self.folder(key), f"trials/{key}")

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold a trial alone; waits while another process (such as an orphan of a killed sweep) has it."""
        folder = self.folder(key)
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / "lock", wait=True):
            yield


@contextmanager
def only_sweep(store: Path, study: str) -> Iterator[None]:
    """Hold a study's sweep alone.

    Raises
    ------
    RuntimeError : another process sweeps this study into the same store.
    """
    path = Path(store) / "sweeps" / f"{study}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path, wait=False):
        yield


@contextmanager
def _locked(path: Path, wait: bool) -> Iterator[None]:
    with open(path, "a+", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not wait:
                    file.seek(0)
                    raise RuntimeError(f"{path}: held by process {file.read() or '?'}, which runs this sweep") from None
                time.sleep(0.2)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
