"""What a checkpoint contains, and how a trial resumes from it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from dml.protocols import Loss
from dml.training import checkpoint
from dml.training.batch_loader import BatchLoader
from dml.training.diagnostics import Diagnostics
from dml.training.errors import UnusableCheckpoint
from dml.training.filtering import Filtering
from dml.training.random_streams import RandomStreams
from dml.types import EvaluationPoint

FOLDER, LAST = "checkpoint", "last.pt"


@dataclass
class History:
    """How far a trial has come."""

    step: int = 0
    curve: list[EvaluationPoint] = field(default_factory=list)
    seconds: float = 0.0  # of training and evaluation, without saving

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the seconds that a block takes."""
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started

    def state_dict(self) -> dict[str, Any]:
        """As plain values."""
        curve = [[point.step, dict(point.scores)] for point in self.curve]
        return {"step": self.step, "curve": curve, "seconds": self.seconds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self.step, self.seconds = state["step"], state["seconds"]
        self.curve = [EvaluationPoint(step, scores) for step, scores in state["curve"]]


@dataclass(frozen=True)
class TrialState:
    """Everything that decides a trial's next steps. A checkpoint contains the `state_dict()` of each field."""

    model: nn.Module
    loss: Loss
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    batches: BatchLoader
    streams: RandomStreams
    diagnostics: Diagnostics
    history: History
    filtering: Filtering | None = None
    average: AveragedModel | None = None

    def save(self, path: Path) -> None:
        """Save a checkpoint."""
        checkpoint.save(path, {name: part.state_dict() for name, part in self._parts().items()})

    def load(self, path: Path) -> None:
        """Resume from a checkpoint. On a CPU the next steps are those of the uninterrupted trial, bit for bit.

        The checkpoint is the first process's.

        Raises
        ------
        UnusableCheckpoint : and the state may be partly restored.
        """
        try:
            saved = checkpoint.load(path)
            for name, part in self._parts().items():
                part.load_state_dict(saved[name])
        except (ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
            raise UnusableCheckpoint(path, error) from error

    def _parts(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if part is not None}


class Checkpoints:
    """The checkpoint from which a trial resumes.

    Parameters
    ----------
    folder : the trial's own.
    state : what is saved and restored.
    """

    def __init__(self, folder: Path, state: TrialState):
        self._folder, self._state = folder / FOLDER, state

    def save(self) -> None:
        """Save the present state."""
        self._state.save(self._folder / LAST)

    def resume(self) -> None:
        """Restore the last checkpoint, if there is one."""
        if resumes(self._folder.parent):
            self._state.load(self._folder / LAST)

    def discard(self) -> None:
        """Delete it."""
        (self._folder / LAST).unlink(missing_ok=True)
        with suppress(OSError):  # the folder contains others, or does not exist
            self._folder.rmdir()


def resumes(folder: Path) -> bool:
    """Whether a trial's folder contains a checkpoint from which it resumes."""
    return (folder / FOLDER / LAST).is_file()
