"""The sections `search` and `resources`, and what a trial's curve says (`search.stop`).

With `best`, confirmed trials train as many steps as the best tuning trial had at its best (Prechelt, "Early Stopping -
But When?", 1998). All steps are seen first, so no patience has to be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field

import dml
from dml.config.data import makes_noise
from dml.config.terms import EvaluatedLevel, StudySection, check_metrics, checked_parts
from dml.types import Name


class SearchSection(StudySection):
    """How each cell's settings are found; every cell has the same number of trials."""

    sampler: Literal["tpe", "grid", "fixed"] = Field("tpe", description="fixed: no tuning, the defaults are confirmed")
    trials: int = Field(
        8, ge=1, description="tuning trials per cell; `sampler: fixed` runs none, or one with `stop: best`"
    )
    objective: Name = Field("recall@1", description="metric to maximise on validation classes, never on test classes")
    level: EvaluatedLevel | None = Field(
        None, description="label level of the objective; none: the first evaluated one"
    )
    validation: Literal["observed", "true_labels"] = Field(
        "observed",
        description="labels by which validation classes choose: as wrong as those that train, or, as an oracle, "
        "the true ones, which nobody has who needs the result",
    )
    stop: Literal["last", "best"] = Field(
        "last",
        description="when confirmed trials end: after all `training.steps`, or after as many as the best tuning trial "
        "had when it was best on validation classes; tuning trials train all steps; a study that is tuned has `best` "
        "unless it says otherwise",
    )
    protocol: Literal["refit", "train_val_test"] = Field(
        "refit",
        description="what the confirmed model is trained on: all training classes, or the half that tuning fits",
    )

    @property
    def tunes(self) -> bool:
        """Whether cells have tuning trials, as far as they have something to choose."""
        return self.sampler != "fixed" or self.stop == "best"

    def chooses_by_observed(self, noise: str, rate: float) -> bool:
        """Whether labels that may be wrong choose, at a noise level."""
        return self.validation == "observed" and (rate > 0 or not makes_noise(noise))

    @checked_parts(lambda section: check_metrics([section.objective]))
    def _check(self) -> None:
        dml.evaluation.check_metric(self.objective)


class ResourcesSection(StudySection):
    """What one trial needs, and the cluster that runs it."""

    cpus_per_trial: float = Field(1, gt=0, description="processor cores")
    gpus_per_trial: float = Field(
        0, ge=0, description="below 1: a share of a GPU; with training.workers, which take 1 CPU each, of all of them"
    )
    concurrent: int | None = Field(None, ge=1, description="trials at once; none: as many as fit")
    storage: str | None = Field(None, description="a URI that all nodes can read; none: a local folder")

    @property
    def device(self) -> str:
        """Where trials run: `cpu` or `cuda`."""
        return "cuda" if self.gpus_per_trial else "cpu"

    def worker(self, workers: int = 1) -> dict[str, float]:
        """What each of so many workers of a trial takes, by Ray's names."""
        if workers == 1:
            return {"CPU": self.cpus_per_trial, "GPU": self.gpus_per_trial}
        return {"CPU": 1.0, "GPU": self.gpus_per_trial / workers}


def stops_at_best(search: SearchSection, phase: str) -> bool:
    """Whether a trial of this phase counts by the best point of its curve."""
    return search.stop == "best" and phase == "tune"


def best_point(curve: Iterable[Any], objective: str) -> tuple[int, float] | None:
    """The step and value of the best point of a curve `[[step, {score: value}], ...]`, the earliest in a tie.

    None if it has no finite value of the objective.
    """
    points = [(int(step), scores.get(objective)) for step, scores in curve]
    finite = [(step, float(value)) for step, value in points if value is not None and math.isfinite(value)]
    return min(finite, key=lambda point: (-point[1], point[0]), default=None)


def value_of(
    search: SearchSection, phase: str, objective: str, scores: Mapping[str, float], curve: Iterable[Any]
) -> float | None:
    """What a trial counts with, by its curve or its `scores` after the last step; None if it lacks the objective."""
    if not stops_at_best(search, phase):
        return scores.get(objective)
    best = best_point(curve, objective)
    return None if best is None else best[1]


def evaluated_steps(steps: int, every: int) -> list[int]:
    """The steps after which a tuning trial that counts by its best point is evaluated, the untrained network first."""
    return [*range(0, steps, every), steps]


def default_every(steps: int) -> int:
    """Steps between two evaluations of such a trial, if the study does not say."""
    return max(1, -(-steps // 10))
