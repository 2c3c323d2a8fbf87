"""How the settings of a cell's tuning trials are found: one class a strategy.

A strategy proposes trials in rounds. A round begins when all trials of the one before have ended, and depends on their
settings and values only, not on the order or speed in which they run. So a strategy saves nothing: a sweep that starts
again proposes the same trials.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dml.config import SearchSection
from dml.seeding import derive
from dml.types import TUNING_SEED, Choice, LogUniform, Space

STARTUP = 10  # maximum size of the first round; TPE's default


class Trial(NamedTuple):
    """A proposed trial of a cell."""

    number: int
    settings: Mapping[str, Any]


class Result(NamedTuple):
    """What became of a trial."""

    value: float | None  # None: it failed
    lasting: bool = True  # False: it failed by chance, and another sweep tries it again


Rounds = Generator[Iterable[Trial], Mapping[int, Result], None]
"""Yields the trials of a round, and is sent their results by number."""


class Strategy(Protocol):
    """What a search proposes."""

    trials: int  # in all
    count: int  # of rounds, for the order in which trials of several cells run

    def rounds(self) -> Rounds:
        """The rounds, from the first one on."""


class Fixed:
    """One trial with the settings of the study: its curve says when to stop (`search.stop: best`)."""

    trials = count = 1

    def rounds(self) -> Rounds:
        yield [Trial(0, {})]


class Grid:
    """At most `budget` points of a grid, in a fixed order and one round.

    A `Choice` takes all its options. A real setting takes L equally spaced values, both ends included (`LogUniform`:
    equally spaced logarithms), or its middle for L = 1. L is the largest number for which all combinations fit the
    budget. If the options exceed the budget even for L = 1, evenly spaced combinations are taken.

    Parameters
    ----------
    spaces : the searched settings by name.
    budget : the most trials.
    """

    count = 1

    def __init__(self, spaces: Mapping[str, Space], budget: int):
        self.points = _grid(spaces, budget)
        self.trials = len(self.points)

    def rounds(self) -> Rounds:
        yield itertools.starmap(Trial, enumerate(self.points))


class Tpe:
    """Optuna's tree-structured Parzen estimator, a round at a time.

    The first round is drawn at random (TPE's start-up). Each later round, an eighth of the budget, is proposed from the
    results of all earlier rounds. The sampler is seeded with the cell's name and the trial's number.

    Parameters
    ----------
    search : the study's search section.
    spaces : the searched settings by name.
    cell : the cell's name, which seeds its proposals.
    """

    def __init__(self, search: SearchSection, spaces: Mapping[str, Space], cell: str):
        self._spaces, self._cell, self.trials = spaces, cell, search.trials
        first, size = min(self.trials, STARTUP, max(2, self.trials // 2)), max(1, self.trials // 8)
        later = (range(n, min(n + size, self.trials)) for n in range(first, self.trials, size))
        self.numbers = [range(first), *later]
        self.count = len(self.numbers)

    def rounds(self) -> Rounds:
        import optuna
        from optuna.trial import TrialState

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(direction="maximize")
        for numbers in self.numbers:
            drawn = {}
            for number in numbers:  # all before any has ended
                seed = derive(TUNING_SEED, f"{self._cell}/{number}") % 2**32
                startup = len(self.numbers[0])
                study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)
                trial = study.ask()
                drawn[number] = trial, {name: _suggest(trial, name, space) for name, space in self._spaces.items()}
            results = yield [Trial(number, settings) for number, (_, settings) in drawn.items()]
            for number, (trial, _) in drawn.items():
                result = results[number]
                if result.lasting:
                    study.tell(trial, result.value, TrialState.FAIL if result.value is None else None)


def _suggest(trial: Any, name: str, space: Space) -> Any:
    if isinstance(space, Choice):
        return trial.suggest_categorical(name, space.options)
    return trial.suggest_float(name, space.low, space.high, log=isinstance(space, LogUniform))


def _grid(spaces: Mapping[str, Space], budget: int) -> list[dict[str, Any]]:
    real = [name for name, space in spaces.items() if not isinstance(space, Choice)]
    options = math.prod(len(space.options) for space in spaces.values() if isinstance(space, Choice))
    levels = 1
    while real and options * (levels + 1) ** len(real) <= budget:
        levels += 1
    values = [_values(space, levels) for space in spaces.values()]
    points = [dict(zip(spaces, point, strict=True)) for point in itertools.product(*values)]
    chosen = np.linspace(0, len(points) - 1, min(budget, len(points))).round().astype(int)
    return [points[i] for i in chosen]


def _values(space: Space, levels: int) -> Sequence[Any]:
    if isinstance(space, Choice):
        return space.options
    low, high = (
        (math.log(space.low), math.log(space.high)) if isinstance(space, LogUniform) else (space.low, space.high)
    )
    points = np.linspace(low, high, levels) if levels > 1 else np.array([(low + high) / 2])
    values = np.exp(points) if isinstance(space, LogUniform) else points
    return [float(v) for v in np.clip(values, space.low, space.high)]
