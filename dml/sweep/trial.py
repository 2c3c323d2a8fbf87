"""Runs trials in a Ray worker. Workers are reused: the next trial only brings new settings.

An error in a trial becomes the trial's outcome, with the traceback, and does not end the worker. Only a CUDA error ends
it, because the device is unreliable afterwards. Ray Tune then resumes the trial in a new worker, as it does when a
worker or a node died.
"""

from __future__ import annotations

import gc
import importlib
import json
import platform
import sys
import traceback
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ray import tune

from dml.files import DISK_FULL
from dml.protocols import Trainer, TrainerFactory
from dml.sweep import specs
from dml.sweep.storage_errors import StorageError
from dml.sweep.store import FAILED, FINISHED, PAUSED, Outcome, TrialStore
from dml.training.allocator import keep_freed_memory
from dml.types import EvaluationPoint, TrialResult, TrialSpec

TRAINER = "dml.sweep.trial.training"


def find_trainer(path: str) -> TrainerFactory:
    """The trainer at a dotted path.

    Raises
    ------
    ValueError : the path cannot be imported.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"trainer {path!r} cannot be imported: {error}") from error


def training(spec: TrialSpec, data_root: Path, folder: Path, device: str) -> Trainer:
    """The training loop of `dml.training`, in this process or distributed over `training.devices` processes.

    A checkpoint that cannot be used, such as one of an earlier version of the code, is moved aside, and the trial
    starts anew.
    """
    if spec.training.devices > 1:
        from dml.training.distributed import DistributedTraining

        return DistributedTraining(spec, data_root, folder, device)
    from dml.training.loop import Training
    from dml.training.resuming import UnusableCheckpoint

    try:
        return Training(spec, data_root, folder, device)
    except UnusableCheckpoint as error:
        print(f"{error}; the trial starts anew", file=sys.stderr)
        error.path.replace(error.path.with_suffix(".unusable"))
        return Training(spec, data_root, folder, device)


def _is_machines(error: Exception) -> bool:
    """Whether the storage or a disk failed, not the trial. Such an error ends the sweep, with its message."""
    return isinstance(error, StorageError) or getattr(error, "errno", None) in DISK_FULL


@cache
def _freeze_imports() -> None:
    """Exclude imported modules from the garbage collection in `cleanup`, which would take longer than a short trial."""
    gc.freeze()


class TrialWorker(tune.Trainable):
    """Runs one trial after another. Each `train()` advances a trial to its next evaluation.

    A trial with `until` ends as `paused` at its first evaluation after that many steps. It resumes from its checkpoint.
    """

    def setup(self, config: dict[str, Any]) -> None:
        keep_freed_memory()
        self._config = config
        sys.path += [path for path in config["path"] if path not in sys.path]  # for a user's own parts and trainers
        self._trainer: Trainer | None = None
        self._held = ExitStack()
        self._started = ""

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.cleanup()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Advance the trial. `point` is [step, scores] or empty, `outcome` the `Outcome` or empty, both as JSON."""
        store = TrialStore(Path(self._config["store"]), self._config["storage"])
        key, until = self._config["key"], self._config["until"]
        try:
            point, outcome = self._advance(store, key, until)
        except Exception as error:
            text = traceback.format_exc()
            outcome, point = self._failed(error, text), None
            try:
                if "CUDA error" in text:
                    raise
                if outcome.lasting:
                    outcome = self._stored(store, key, outcome)
            finally:
                self.cleanup()
        if outcome is not None:
            self.cleanup()
        return {
            "point": "" if point is None else json.dumps([point.step, dict(point.scores)]),
            "outcome": "" if outcome is None else json.dumps(asdict(outcome)),
            "done": outcome is not None,
        }

    def cleanup(self) -> None:
        trainer, self._trainer = self._trainer, None
        if trainer is not None:
            trainer.close()
            del trainer
            gc.collect()
        self._held.close()

    def _advance(self, store: TrialStore, key: str, until: int | None) -> tuple[EvaluationPoint | None, Outcome | None]:
        if self._trainer is None:
            self._started = datetime.now(UTC).isoformat(timespec="seconds")
            self._held.enter_context(store.lock(key))
            outcome = store.reached(key, until)
            if outcome is not None:  # by an earlier sweep, perhaps while the storage was away
                store.push(key)
                return None, outcome
            store.pull(key)
            outcome = store.reached(key, until)
            if outcome is not None:
                return None, outcome
            store.begin(key, self._config["record"])
            spec = specs.load(self._config["spec"])
            data_root, device = Path(self._config["data_root"]), self._config["device"]
            make = find_trainer(self._config["trainer"])
            _freeze_imports()
            self._trainer = make(spec, data_root, store.folder(key), device)
        trainer = self._trainer
        point = None if trainer.finished else trainer.advance()
        if not trainer.finished:
            outcome = None
            if until is not None and point is not None and point.step >= until:
                outcome = self._ended(PAUSED, trainer.result())
                store.write(key, outcome)
            store.push(key)
            return point, outcome
        outcome = self._ended(FINISHED, trainer.result())
        store.write(key, outcome)
        trainer.discard_checkpoint()
        store.push(key)
        return point, outcome

    def _ended(self, status: str, result: TrialResult) -> Outcome:
        return Outcome(
            status=status,
            scores=dict(result.scores),
            curve=[[point.step, dict(point.scores)] for point in result.curve],
            diagnostics=dict(result.diagnostics),
            counts={name: list(values) for name, values in result.counts.items()},
            seconds=result.seconds,
            started=self._started,
            host=platform.node(),
        )

    def _stored(self, store: TrialStore, key: str, outcome: Outcome) -> Outcome:
        """Store a failure that lasts, before the trial's lock is released. Returns it, or why it could not be stored."""
        try:
            store.write(key, outcome)
            store.push(key)
        except OSError as error:
            return self._failed(error, traceback.format_exc())
        return outcome

    def _failed(self, error: Exception, text: str) -> Outcome:
        return Outcome(
            FAILED,
            error=str(error) if _is_machines(error) else text,
            lasting="TrainingError: " in text,  # by name: a distributed trial reports it as text of another process
            errno=getattr(error, "errno", None) or 0,
            started=self._started,
            host=platform.node(),
        )
