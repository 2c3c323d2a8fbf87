"""The error of a trial that cannot continue."""

from __future__ import annotations

from dml.types import TrialSpec


class TrainingError(RuntimeError):
    """A failure that is the trial's result, because it would recur: for example, a loss that is not finite."""


def not_finite(what: str, when: str, spec: TrialSpec) -> TrainingError:
    """The error of a trial in which `what` became infinite or NaN; `when` is such as `"at step 7"`."""
    steps, rate = spec.training.steps, spec.training.learning_rate
    settings = f"loss {spec.loss.name!r}, learning rate {rate:g}"
    return TrainingError(f"{what} became infinite or NaN {when} of {steps} ({settings})")
