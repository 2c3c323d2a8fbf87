"""The settings that a cell tries next: Optuna's proposals, made independent of timing.

A cell's trials come in rounds. The first round is drawn at random (TPE's start-up). Each later round, an eighth of the
budget, is proposed from the results of all earlier rounds. The sampler is seeded with the cell's name and the trial's
number. A whole round is requested before any of its trials ends, so proposals depend neither on which worker was faster
nor on interruptions: they stay the same even if Optuna's storage is deleted. `grid` ignores results, so all
its trials are one round.

With `search.early_stopping: halving`, proposals end before the first promotion, and the sampler is told what each trial
has on the first rung: values after equally many steps. What promoted trials reach later is not comparable, so it is not
told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from dml.config import SearchSection
from dml.seeding import derive
from dml.sweep.plan.space import budget, grid
from dml.sweep.store.trials import FINISHED, PAUSED, Outcome
from dml.types import Choice, LogUniform, Space

STARTUP = 10  # maximum size of the first round; TPE's default


class Proposals:
    """One cell's Optuna study.

    Parameters
    ----------
    search : the study's search section.
    spaces : the cell's searched settings. Without any, one trial has the defaults.
    name : the Optuna study's name. Searches that may have different results need different names.
    cell : the cell's name, which seeds its proposals.
    storage : Optuna's storage.
    """

    def __init__(
        self,
        search: SearchSection,
        spaces: Mapping[str, Space],
        name: str,
        cell: str,
        storage: optuna.storages.BaseStorage,
    ):
        self._search, self._spaces, self._cell = search, spaces, cell
        self._first = grid(spaces, search.trials) if spaces and search.sampler == "grid" else []  # fixed settings
        self.total = budget(search, spaces)
        self._study = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
        self._known = self._study.get_trials(deepcopy=False)
        self._live: dict[int, Trial] = {}

    def rounds(self) -> list[range]:
        """The trial numbers of each round."""
        if self._search.sampler != "tpe":
            return [range(self.total)]
        first = min(self.total, STARTUP, max(2, self.total // 2))
        size = max(1, self.total // 8)
        return [range(first), *(range(n, min(n + size, self.total)) for n in range(first, self.total, size))]

    def ask(self, number: int) -> dict[str, Any]:
        """The settings of a trial. A trial that an interrupted sweep began keeps its settings."""
        known = self._known[number] if number < len(self._known) else None
        if known is not None and known.state.is_finished():
            return dict(known.params)
        self._study.sampler = self._sampler(number)
        if known is not None and known.state == TrialState.RUNNING:
            trial = Trial(self._study, known._trial_id)
            self._draw_again(trial, known)
        else:
            if number < len(self._first) and known is None:
                self._study.enqueue_trial(self._first[number])
            trial = self._study.ask()
        assert trial.number == number, f"cell {self._cell}: asked for trial {number}, got {trial.number}"
        self._live[number] = trial
        return {name: _suggest(trial, name, space) for name, space in self._spaces.items()}

    def report(self, number: int, step: int, value: float) -> None:
        """Store a running trial's score, so that `optuna-dashboard` shows it."""
        if number in self._live and math.isfinite(value):
            self._live[number].report(value, step)

    def tell(self, number: int, outcome: Outcome, value: float | None, key: str) -> None:
        """Store a trial's outcome, or what it had when it paused first. A second call does nothing."""
        if number not in self._live:
            return
        trial = self._live.pop(number)
        trial.set_user_attr("key", key)
        if outcome.status in (FINISHED, PAUSED):
            self._study.tell(trial, value)
        else:
            trial.set_user_attr("error", outcome.error)
            self._study.tell(trial, state=TrialState.FAIL)

    def note(self, number: int, text: str) -> None:
        """Store the error of a trial that failed temporarily. It stays open, and another run retries it."""
        if number in self._live:
            self._live.pop(number).set_user_attr("error", text)

    def _draw_again(self, trial: Trial, known: FrozenTrial) -> None:
        """Let the sampler draw what a trial has already: what a killed sweep did not ask for is drawn after it."""
        for name, distribution in known.distributions.items():
            drawn = not distribution.single() and not trial._is_fixed_param(name, distribution)
            if drawn and not trial._is_relative_param(name, distribution):
                self._study.sampler.sample_independent(self._study, known, name, distribution)

    def _sampler(self, number: int) -> optuna.samplers.BaseSampler:
        seed = derive(self._search.seed, f"{self._cell}/{number}") % 2**32
        if self._search.sampler == "tpe":
            return optuna.samplers.TPESampler(seed=seed, n_startup_trials=len(self.rounds()[0]), constant_liar=True)
        return optuna.samplers.RandomSampler(seed=seed)


def _suggest(trial: Trial, name: str, space: Space) -> Any:
    if isinstance(space, Choice):
        return trial.suggest_categorical(name, space.options)
    return trial.suggest_float(name, space.low, space.high, log=isinstance(space, LogUniform))
