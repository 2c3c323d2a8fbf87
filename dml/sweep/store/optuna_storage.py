"""Optuna's storage for a study: a journal file, which `optuna-dashboard <file>` shows while the sweep runs.

Only one process writes to it, because a sweep locks its study. A trial takes about 4 ms, against 25 ms in SQLite.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend


def journal_of(store: Path, study: str) -> Path:
    """The journal of a study's search."""
    return store / "sweeps" / f"{study}.journal"


def open_storage(path: Path) -> optuna.storages.BaseStorage:
    """Open or create a journal. Removes the lock and the incomplete last line that a killed process left.

    The journal can be rebuilt from the trial store, so one that is none is moved aside. Trials that its search pruned
    then run again.

    Raises
    ------
    OSError : of the disk; the journal stays.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(path.name + ".lock").unlink(missing_ok=True)
    if path.is_file():
        with open(path, "r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    try:
        return _journal(path)
    except OSError:
        raise
    except Exception:
        path.replace(path.with_name(path.name + ".unreadable"))
        return _journal(path)


@contextmanager
def copied_storage(store: Path, study: str) -> Iterator[optuna.storages.BaseStorage]:
    """A copy of a study's search so far, to plan without changing it. It contains the pruned trials."""
    with tempfile.TemporaryDirectory(prefix="dml-") as folder:
        copy = Path(folder) / "journal"
        with suppress(FileNotFoundError):  # no sweep of this study began
            shutil.copyfile(journal_of(store, study), copy)
        yield open_storage(copy)


def _journal(path: Path) -> optuna.storages.BaseStorage:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return JournalStorage(JournalFileBackend(str(path)))
