"""One trial from its stored state to its outcome, in one process or in several that share it.

Of several processes the first one locks the trial's folder, and reads and writes what is in it. The others only train.
"""

from __future__ import annotations

import gc
import importlib
import os
import platform
import sys
import traceback
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from dml.protocols import Trainer, TrainerFactory
from dml.sweep.execution.rendezvous import Advanced, TrialConfig
from dml.sweep.store.trials import FAILED, FINISHED, Outcome
from dml.training.process import UnusableCheckpoint, from_first, keep_freed_memory, rank_and_size, wait_for_all
from dml.types import TrialResult, TrialSpec

TRAINER = "dml.sweep.execution.trial_run.training"


def training(spec: TrialSpec, data_root: Path, folder: Path, device: str) -> Trainer:
    """The training loop, in this process or as this process's share of a trial: the `TrainerFactory` of all studies.

    A checkpoint that cannot be used, such as one of an earlier version of the code, is moved aside, and the trial
    starts anew.
    """
    from dml.training.loop import Training

    try:
        return Training(spec, data_root, folder, device)
    except UnusableCheckpoint as error:
        rank, size = rank_and_size()
        if rank == 0:
            print(f"{error}; the trial starts anew", file=sys.stderr)
            error.path.replace(error.path.with_suffix(".unusable"))
        if size > 1:
            raise  # the processes have exchanged messages about the networks that they built: all of them start again
        return Training(spec, data_root, folder, device)


def find_trainer(path: str) -> TrainerFactory:
    """The trainer at a dotted path."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"trainer {path!r} cannot be imported: {error}") from error


@cache
def _freeze_imports() -> None:
    """Exclude imported modules from the garbage collection in `close`, which would take longer than a short trial."""
    gc.freeze()


class TrialRun:
    """Runs a trial. Each `advance()` trains to its next evaluation."""

    def __init__(self, config: TrialConfig):
        keep_freed_memory()
        sys.path += [path for path in config.path if path not in sys.path]
        self._config, self._store = config, config.open_store()
        self._first = rank_and_size()[0] == 0
        self._trainer: Trainer | None = None
        self._held = ExitStack()
        self._started = now()

    def advance(self) -> Advanced:
        """Train to the next evaluation. The first process's outcome is stored before this returns."""
        if self._trainer is None and (outcome := self._open()) is not None:
            return None, outcome
        if (trainer := self._trainer) is None:
            return None, None  # the first process has the outcome
        key, outcome = self._config.key, None
        reached = None if trainer.finished else trainer.advance()
        if not self._first:
            return None, None
        if trainer.finished:
            outcome = self._finished(trainer.result())
            self._store.write(key, outcome)
            trainer.discard_checkpoint()
        self._store.push(key)
        return None if reached is None else [reached.step, dict(reached.scores)], outcome

    def close(self) -> None:
        """End what runs in the background, and unlock the trial."""
        trainer, self._trainer = self._trainer, None
        if trainer is not None:
            trainer.close()
            del trainer
            gc.collect()
        self._held.close()

    def _open(self) -> Outcome | None:
        """Load the trial's state. Returns the outcome if another run of it ended meanwhile."""
        config, store = self._config, self._store
        outcome = None
        if self._first:
            self._held.enter_context(store.lock(config.key))
            if (outcome := store.read(config.key)) is not None:  # of a sweep, perhaps while the storage was away
                store.push(config.key)
            else:
                store.pull(config.key)
                if (outcome := store.read(config.key)) is None:
                    store.begin(config.key, config.record)
        if from_first(outcome is not None):
            return outcome
        if config.storage is not None and rank_and_size()[1] > 1:
            if not self._first and os.environ.get("LOCAL_RANK") == "0":
                store.pull(config.key)  # once a node
            wait_for_all()
        _freeze_imports()
        make = find_trainer(config.trainer)
        try:
            self._trainer = make(config.spec, Path(config.data_root), store.folder(config.key), config.device)
        except UnusableCheckpoint:
            if self._first:
                store.push(config.key)  # without the checkpoint, which was moved aside
            raise
        return None

    def _finished(self, result: TrialResult) -> Outcome:
        return Outcome(
            FINISHED,
            scores=dict(result.scores),
            curve=[[point.step, dict(point.scores)] for point in result.curve],
            diagnostics=dict(result.diagnostics),
            counts={name: list(values) for name, values in result.counts.items()},
            seconds=result.seconds,
            started=self._started,
            host=platform.node(),
        )


def failed(config: TrialConfig, text: str, errno: int, started: str) -> Outcome:
    """The outcome of a trial that raised an error. It is stored if it would recur."""
    lasting = "TrainingError: " in text  # by name, since parts of other packages have their own
    outcome = Outcome(FAILED, error=text, lasting=lasting, errno=errno, started=started, host=platform.node())
    if lasting:
        store = config.open_store()
        try:
            store.begin(config.key, config.record)
            store.write(config.key, outcome)
            store.push(config.key)
        except OSError as error:  # of the disk or the storage
            return replace(outcome, error=traceback.format_exc(), lasting=False, errno=error.errno or 0)
    return outcome


def now() -> str:
    """The time in ISO 8601, UTC, in whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
