"""One trial inside a Ray worker. The worker outlives its trials: the next one only brings new settings.

A trial's own errors do not end its worker: they are reported as its outcome, with the traceback. Only a CUDA error
does, since nothing on that device can be trusted after it; Ray Tune then resumes the trial in a fresh worker, as it
does after a worker's or a node's death.
"""

from __future__ import annotations

import gc
import importlib
import json
import platform
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from ray import tune

from dml.sweep.store import FAILED, FINISHED, Outcome, TrialStore
from dml.training.allocator import keep_freed_memory
from dml.types import Progress, TrialResult, TrialSpec

TRAINER = "dml.sweep.trial.training"


class Trainer(Protocol):
    """What runs one trial; constructed with (spec, data_root, folder, device), it goes on from the folder's checkpoint.

    An error that is the trial's result, and would come again, is named `TrainingError`.
    """

    @property
    def finished(self) -> bool:
        """Whether all steps are done and evaluated."""
        ...

    def advance(self) -> Progress:
        """Train to the next evaluation, evaluate, save a checkpoint."""
        ...

    def result(self) -> TrialResult:
        """What the finished trial leaves."""
        ...

    def discard_checkpoint(self) -> None:
        """Called once the result is recorded."""
        ...

    def close(self) -> None:
        """Called when the trial leaves its worker, however it ended."""
        ...


def find_trainer(path: str) -> Callable[..., Trainer]:
    """The class that trains, from its dotted path.

    Raises
    ------
    ValueError : there is no such class.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"trainer {path!r} cannot be imported: {error}") from error


def training(spec: TrialSpec, data_root: Path, folder: Path, device: str) -> Trainer:
    """The loop of `dml.training`, in this process or spread over the devices that the study asks for."""
    if spec.training["devices"] > 1:
        from dml.training.distributed import DistributedTraining

        return DistributedTraining(spec, data_root, folder, device)
    from dml.training.loop import Training

    return Training(spec, data_root, folder, device)


@cache
def _freeze_imports() -> None:
    """What is imported stays: `cleanup` need not look through it, which takes longer than a small trial. Once."""
    gc.freeze()


class TrialWorker(tune.Trainable):
    """Runs one trial after another. Each `train()` is one evaluation of the trial."""

    def setup(self, config: dict[str, Any]) -> None:
        keep_freed_memory()
        self._config = config
        sys.path += [path for path in config["path"] if path not in sys.path]  # a study's own parts and trainers
        self._trainer: Trainer | None = None
        self._held = ExitStack()
        self._started = ""

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.cleanup()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """`progress`: JSON [step, scores] or empty; `outcome`: JSON of the `Outcome`, empty while it goes on."""
        store = TrialStore(Path(self._config["store"]), self._config["storage"])
        key = self._config["key"]
        try:
            progress, outcome = self._advance(store, key)
        except Exception as error:
            text = traceback.format_exc()
            self.cleanup()
            if "CUDA error" in text:
                raise
            outcome = self._failed(error, text)
            progress = None
            if outcome.lasting:
                store.write(key, outcome)
                store.push(key)
        if outcome is not None:
            self.cleanup()
        return {
            "progress": "" if progress is None else json.dumps([progress.step, dict(progress.scores)]),
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

    def _advance(self, store: TrialStore, key: str) -> tuple[Progress | None, Outcome | None]:
        if self._trainer is None:
            self._started = datetime.now(UTC).isoformat(timespec="seconds")
            self._held.enter_context(store.lock(key))
            store.pull(key)
            outcome = store.read(key)
            if outcome is not None:
                return None, outcome
            spec = TrialSpec(**json.loads(self._config["spec"]))
            data_root, device = Path(self._config["data_root"]), self._config["device"]
            make = find_trainer(self._config["trainer"])
            _freeze_imports()
            self._trainer = make(spec, data_root, store.folder(key), device)
        trainer = self._trainer
        progress = None if trainer.finished else trainer.advance()
        if not trainer.finished:
            store.push(key)
            return progress, None
        outcome = self._finished(trainer.result())
        store.write(key, outcome)
        trainer.discard_checkpoint()
        store.push(key)
        return progress, outcome

    def _finished(self, result: TrialResult) -> Outcome:
        return Outcome(
            status=FINISHED,
            scores=dict(result.scores),
            curve=[[point.step, dict(point.scores)] for point in result.curve],
            diagnostics=dict(result.diagnostics),
            seconds=result.seconds,
            started=self._started,
            host=platform.node(),
        )

    def _failed(self, error: Exception, text: str) -> Outcome:
        return Outcome(
            FAILED,
            error=text,
            lasting="TrainingError: " in text,  # by name: a distributed trial's comes from another process, as text
            errno=getattr(error, "errno", None) or 0,
            started=self._started,
            host=platform.node(),
        )
