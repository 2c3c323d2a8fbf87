"""The errors of a trial that cannot continue or resume."""

from __future__ import annotations

from pathlib import Path

from dml.types import TrialSpec


class TrainingError(RuntimeError):
    """A failure that is the trial's result, because it would recur: for example, a loss that is not finite."""


class UnusableCheckpoint(ValueError):
    """A checkpoint that this trial cannot resume from: damaged, or written by other code. `path` is the file."""

    def __init__(self, path: Path, reason: Exception):
        super().__init__(f"{path}: cannot resume from this checkpoint: {type(reason).__name__}: {reason}")
        self.path = path


def not_finite(what: str, when: str, spec: TrialSpec) -> TrainingError:
    """The error of a trial in which `what` became infinite or NaN; `when` is such as `"at step 7"`."""
    steps, rate = spec.training.steps, spec.training.learning_rate
    settings = f"loss {spec.loss.name!r}, learning rate {rate:g}"
    return TrainingError(f"{what} became infinite or NaN {when} of {steps} ({settings})")
