"""One trial in a Ray worker. A worker is reused: the next trial only brings new settings.

A trial's own error does not end its worker. It is reported as the trial's outcome, with the traceback. Only a CUDA
error ends the worker, since the device is unreliable after it; Ray Tune then resumes the trial in a new worker, as it
does after a worker or a node died.
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

from dml.protocols import Trainer, TrainerFactory
from dml.sweep import specs
from dml.sweep.store import FAILED, FINISHED, Outcome, TrialStore
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
    """The loop of `dml.training`, in this process or over as many processes as the study asks for."""
    if spec.training.devices > 1:
        from dml.training.distributed import DistributedTraining

        return DistributedTraining(spec, data_root, folder, device)
    from dml.training.loop import Training

    return Training(spec, data_root, folder, device)


@cache
def _freeze_imports() -> None:
    """Exclude imported modules from the garbage collection in `cleanup`, which would take longer than a small trial."""
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
        """`progress` is JSON [step, scores] or empty; `outcome` is JSON of the `Outcome`, empty until the end."""
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

    def _advance(self, store: TrialStore, key: str) -> tuple[EvaluationPoint | None, Outcome | None]:
        if self._trainer is None:
            self._started = datetime.now(UTC).isoformat(timespec="seconds")
            self._held.enter_context(store.lock(key))
            store.pull(key)
            outcome = store.read(key)
            if outcome is not None:
                return None, outcome
            store.begin(key, self._config["record"])
            spec = specs.load(self._config["spec"])
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
            counts={name: list(values) for name, values in result.counts.items()},
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
