"""What a trial's curve says: its objective, and after how many steps it was reached (`search.stop`).

With `last`, a trial counts by its score after all steps. With `best`, a tuning trial counts by the best point of its
curve on validation classes. Its step becomes the number of steps that confirmed trials train, as early stopping does
(Prechelt, "Early Stopping - But When?", 1998), but all steps are seen first, so no patience has to be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dml.config.search import SearchSection

TENTHS = 10  # evaluations of a tuning trial beside that before its first step, at most, unless a study says otherwise


def stops_at_best(search: SearchSection, phase: str) -> bool:
    """Whether a trial of this phase counts by the best point of its curve."""
    return search.stop == "best" and phase == "tune"


def best_point(curve: Iterable[Any], objective: str) -> tuple[int, float] | None:
    """The step and the value of the best point of a curve, the earliest in a tie; None if it has no finite value.

    Parameters
    ----------
    curve : `[[step, {score: value}], ...]`.
    objective : the score that decides.
    """
    points = [(int(step), scores.get(objective)) for step, scores in curve]
    finite = [(step, float(value)) for step, value in points if value is not None and math.isfinite(value)]
    return min(finite, key=lambda point: (-point[1], point[0]), default=None)


def value_of(
    search: SearchSection, phase: str, objective: str, scores: Mapping[str, float], curve: Iterable[Any]
) -> float | None:
    """What a trial counts with; None if it lacks the objective.

    Parameters
    ----------
    scores : after the last step.
    """
    if not stops_at_best(search, phase):
        return scores.get(objective)
    best = best_point(curve, objective)
    return None if best is None else best[1]


def evaluated_steps(steps: int, every: int) -> list[int]:
    """The steps after which a tuning trial that counts by its best point is evaluated, the untrained network first."""
    return [*range(0, steps, every), steps]


def default_every(steps: int) -> int:
    """Steps between two evaluations of such a trial, if the study does not say."""
    return max(1, -(-steps // TENTHS))


def tuning_every(search: SearchSection, every: int | None, steps: int) -> int | None:
    """Steps between two evaluations of a tuning trial of so many steps; None: it is only evaluated at its end.

    Parameters
    ----------
    every : what the study says.
    """
    return default_every(steps) if every is None and stops_at_best(search, "tune") else every
