"""The life of a cell: it is tuned round by round, its best settings are chosen, and confirmed once per seed.

Only validation classes decide. With `search.stop: best`, the best point of the best tuning trial's curve also says
after how many steps the confirmed trials end. What a search proposes is its strategy's (`dml.sweep.plan.strategies`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dml.config import Study, best_point, stops_at_best, value_of
from dml.sweep.plan import specs
from dml.sweep.plan.strategies import Result, Strategy
from dml.sweep.store.trials import FAILED, FINISHED, Outcome
from dml.types import TUNING_SEED, Cell, TrialSpec


@dataclass(frozen=True)
class Job:
    """One trial of one cell, identified by `(cell, split, phase, number)`. Jobs with the same key share one result."""

    id: str
    index: int  # of the cell's state in the plan
    cell: Cell
    phase: str
    number: int
    seed: int
    settings: Mapping[str, Any]
    spec: TrialSpec
    key: str
    split: int = 0  # the class split


class Ended(NamedTuple):
    """A job that ended."""

    job: Job
    outcome: Outcome
    reused: bool  # the outcome was stored, or is that of another job


@dataclass(eq=False)
class CellState:
    """What is known about one cell, on one class split."""

    index: int  # in the plan
    cell: Cell
    strategy: Strategy | None  # None: nothing is tuned
    split: int = 0  # the class split
    rounds_left: int = 0  # of the search, from the current one on
    tuned: dict[int, tuple[Job, Outcome]] = field(default_factory=dict)
    confirmed: dict[int, tuple[Job, Outcome]] = field(default_factory=dict)
    done: bool = False

    def best(self, study: Study) -> tuple[Job, Outcome] | None:
        """The best tuning trial, the first one in a tie; None if no trial finished."""
        finished = [self.tuned[n] for n in sorted(self.tuned) if self.tuned[n][1].status == FINISHED]
        return max(finished, key=lambda pair: value(study, *pair) or 0.0, default=None)  # `_checked`: none is None


Make = Callable[[str, int, int, Mapping[str, Any]], Job]
"""(phase, number, seed, settings) -> a job of the cell."""

OnEnd = Callable[[Job, Outcome, bool], None]
Offers = Generator[list[Job], Ended, None]


def life(study: Study, state: CellState, make: Make, on_end: OnEnd) -> Offers:
    """Tune in rounds, choose, confirm. Yields jobs that can run now, and is sent each one that ended."""
    chosen: dict[str, Any] = {}
    if state.strategy is not None:
        yield from _tune(study, state, state.strategy, make, on_end)
        best = state.best(study)
        if best is None:
            return  # every trial of the search failed, so there is nothing to confirm
        job, outcome = best
        point = best_point(outcome.curve, objective(study, job)) if stops_at_best(study.search, job.phase) else None
        chosen = {**job.settings, **({} if point is None else {specs.STOP_AT: point[0]})}
    jobs = [make("confirm", number, seed, chosen) for number, seed in enumerate(study.seeds)]
    yield from _round(study, jobs, state.confirmed, on_end)


def _tune(study: Study, state: CellState, strategy: Strategy, make: Make, on_end: OnEnd) -> Offers:
    """Run a strategy's rounds."""
    rounds, state.rounds_left = strategy.rounds(), strategy.count
    trials = next(rounds)
    while True:
        jobs = [make("tune", trial.number, TUNING_SEED, trial.settings) for trial in trials]
        yield from _round(study, jobs, state.tuned, on_end)
        state.rounds_left -= 1
        try:
            trials = rounds.send({job.number: _result(study, *state.tuned[job.number]) for job in jobs})
        except StopIteration:
            return


def _round(study: Study, jobs: list[Job], ended: dict[int, tuple[Job, Outcome]], on_end: OnEnd) -> Offers:
    """Offer jobs, and note what became of each until all have ended."""
    offered = jobs
    for _ in jobs:
        job, outcome, reused = yield offered
        offered = []
        outcome = _checked(study, job, outcome)
        ended[job.number] = job, outcome
        on_end(job, outcome, reused)


def _result(study: Study, job: Job, outcome: Outcome) -> Result:
    return Result(None if outcome.status == FAILED else value(study, job, outcome), outcome.lasting)


def objective(study: Study, job: Job) -> str:
    """The score that a trial maximises: on validation classes in `tune`, on the first set in `confirm`."""
    return study.objective(job.cell.dataset, "validation" if job.phase == "tune" else "")


def value(study: Study, job: Job, outcome: Outcome) -> float | None:
    """What a trial counts with: its objective at the end, or the best on its curve (`search.stop`)."""
    return value_of(study.search, job.phase, objective(study, job), outcome.scores, outcome.curve)


def _checked(study: Study, job: Job, outcome: Outcome) -> Outcome:
    """The outcome, or a failure if the trial finished without a finite objective."""
    if outcome.status != FINISHED:
        return outcome
    counts = value(study, job, outcome)
    if counts is not None and math.isfinite(counts):
        return outcome
    problem = f"is {counts}" if counts is not None else f"is missing. Scores: {', '.join(sorted(outcome.scores))}"
    return replace(outcome, status=FAILED, error=f"the objective {objective(study, job)!r} {problem}")
