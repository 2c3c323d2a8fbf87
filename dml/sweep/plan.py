"""Decides which trial runs next: the search and the confirmation of every cell. It does not know where trials run.

A cell is tuned round by round (`proposals`), then its best settings are confirmed once per seed. Outcomes in the store
are reused. The plan is rebuilt from the study, the store and Optuna's storage at each start, so it saves no state.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import optuna

from dml.config import Study
from dml.sweep import keys, specs
from dml.sweep.proposals import Proposals, Pruning
from dml.sweep.space import space_of
from dml.sweep.store import FAILED, FINISHED, PRUNED, Outcome, TrialStore
from dml.types import Cell, TrialSpec


@dataclass(frozen=True)
class Job:
    """One trial of one cell, identified by `(cell, phase, number)`. Jobs with the same key share one result."""

    id: str
    index: int  # of the cell in the study
    cell: Cell
    phase: str
    number: int
    seed: int
    settings: Mapping[str, Any]
    spec: TrialSpec
    key: str


@dataclass(eq=False)
class _CellState:
    index: int
    cell: Cell
    proposals: Proposals | None
    rounds: list[range]
    round: int = -1
    open: set[int] = field(default_factory=set)  # numbers of the current round's trials that have not ended
    tuned: dict[int, tuple[Job, Outcome]] = field(default_factory=dict)
    confirmed: dict[int, tuple[Job, Outcome]] = field(default_factory=dict)
    done: bool = False

    @property
    def rounds_left(self) -> int:
        return len(self.rounds) - self.round


class Plan:
    """The state of a sweep.

    Parameters
    ----------
    study : what is compared.
    store : outcomes of earlier trials.
    describe : returns the digests of a trial's data.
    storage : Optuna's storage, shared by all cells.
    """

    def __init__(
        self,
        study: Study,
        store: TrialStore,
        describe: specs.Describe,
        storage: optuna.storages.BaseStorage,
    ):
        self.study, self.store = study, store
        self._describe = describe
        self._on_end: Callable[[Job, Outcome, bool], None] = lambda job, outcome, reused: None
        self._digests: dict[tuple[Any, ...], Mapping[str, str]] = {}
        self._ready: list[tuple[int, int, Job]] = []
        self._sequence = 0
        self.running: dict[str, Job] = {}
        self._sharing: dict[str, list[Job]] = {}  # key -> trials that wait for a running one with the same key
        self._pruning: dict[str, Pruning] = {}
        self._unsettled: list[tuple[Job, Outcome, bool]] = []
        self.cells = [self._cell(index, cell, storage) for index, cell in enumerate(study.cells())]

    def start(self, on_end: Callable[[Job, Outcome, bool], None]) -> None:
        """Reuse outcomes from the store, and prepare the first trials.

        Parameters
        ----------
        on_end : called for each trial that ended, with its job, its outcome, and whether the outcome is reused.
        """
        self._on_end = on_end
        for state in self.cells:
            self._next_round(state)
        self._settle_all()

    @property
    def finished(self) -> bool:
        """Whether every cell is confirmed, or has failed."""
        return all(state.done for state in self.cells)

    @property
    def total(self) -> int:
        """The number of trials in the study."""
        seeds = len(self.study.seeds)
        return sum((state.proposals.total if state.proposals else 0) + seeds for state in self.cells)

    def take(self) -> Job | None:
        """The next trial to run, longest searches first; None if no trial is ready."""
        if not self._ready:
            return None
        job = heapq.heappop(self._ready)[2]
        self.running[job.id] = job
        return job

    def report(self, job_id: str, step: int, scores: Mapping[str, float]) -> bool:
        """Report a running trial's evaluation. Returns whether the trial should be pruned."""
        job = self.running[job_id]
        state, value = self.cells[job.index], scores.get(self.objective(job), math.nan)
        if job.phase != "tune" or state.proposals is None:
            return False
        state.proposals.report(job.number, step, value)
        if self.study.search.pruner == "none" or not math.isfinite(value):
            return False
        if job_id not in self._pruning:
            self._pruning[job_id] = Pruning(self.study.search.pruner, self._earlier(state, job), self._every())
        return self._pruning[job_id].should_stop(step, value)

    def end(self, job_id: str, outcome: Outcome) -> None:
        """Report the outcome of a running trial."""
        job = self.running.pop(job_id)
        self._pruning.pop(job_id, None)
        self._unsettled.append((job, outcome, False))
        for other in self._sharing.pop(job.key, []):
            self._unsettled.append((other, outcome, True))
        self._settle_all()

    def ended(self) -> Iterable[tuple[Job, Outcome]]:
        """All trials that ended, in the study's order."""
        for state in self.cells:
            for trials in (state.tuned, state.confirmed):
                yield from (trials[number] for number in sorted(trials))

    def objective(self, job: Job) -> str:
        """The score that a trial maximises: on validation classes in `tune`, on the first set in `confirm`."""
        level = self.study.search.level or job.spec.dataset.evaluate_on[0]
        name = "validation" if job.phase == "tune" else self.study.evaluation.sets[0]
        return f"{name}/{level}/{self.study.search.objective}"

    def best(self, index: int) -> tuple[Job, Outcome] | None:
        """A cell's best tuning trial, the first one in a tie; None if no trial finished."""
        tuned = self.cells[index].tuned
        finished = [tuned[n] for n in sorted(tuned) if tuned[n][1].status == FINISHED]
        return max(finished, key=lambda pair: pair[1].scores[self.objective(pair[0])], default=None)

    def _cell(self, index: int, cell: Cell, storage: optuna.storages.BaseStorage) -> _CellState:
        spaces = space_of(self.study, cell)
        if not spaces:
            return _CellState(index, cell, None, [])
        search = self.study.search.model_dump(mode="json", exclude={"trials"})
        spec = specs.build(self.study, cell, "tune", self.study.search.seed, {}, self._data(cell, "tune"))
        # The budget determines the rounds, so another budget is another search. Equal trials still reuse the store.
        terms = {name: repr(space) for name, space in spaces.items()}
        identity = keys.digest([keys.key(spec), search, self.study.search.trials, terms])
        name = f"{self.study.name}|{cell.name}|{identity[:8]}"
        proposals = Proposals(self.study.search, spaces, name, cell.name, storage)
        return _CellState(index, cell, proposals, proposals.rounds())

    def _data(self, cell: Cell, phase: str, seed: int | None = None) -> Mapping[str, str]:
        seed = self.study.search.seed if seed is None else seed
        asked = (cell.dataset, cell.noise, cell.rate, seed, phase)
        if asked not in self._digests:
            self._digests[asked] = self._describe(*asked)
        return self._digests[asked]

    def _next_round(self, state: _CellState) -> None:
        state.round += 1
        index = state.index
        if state.proposals is not None and state.round < len(state.rounds):
            numbers = state.rounds[state.round]
            settings = {n: state.proposals.ask(n) for n in numbers}
            self._offer(state, [self._job(index, "tune", n, self.study.search.seed, settings[n]) for n in numbers])
            return
        best = self.best(index)
        if state.proposals is not None and best is None:
            state.done = True  # every trial of the search failed, so there is nothing to confirm
            return
        chosen = best[0].settings if best else {}
        self._offer(state, [self._job(index, "confirm", n, seed, chosen) for n, seed in enumerate(self.study.seeds)])

    def _job(self, index: int, phase: str, number: int, seed: int, settings: Mapping[str, Any]) -> Job:
        cell = self.cells[index].cell
        spec = specs.build(self.study, cell, phase, seed, settings, self._data(cell, phase, seed))
        return Job(f"{index}-{phase}-{number}", index, cell, phase, number, seed, settings, spec, keys.key(spec))

    def _offer(self, state: _CellState, jobs: list[Job]) -> None:
        state.open = {job.number for job in jobs}
        for job in jobs:
            outcome = self.store.read(job.key) or self._pruned(state, job)
            if outcome is not None:
                self._unsettled.append((job, outcome, True))
            elif job.key in self._sharing:
                self._sharing[job.key].append(job)
            else:
                self._sharing[job.key] = []
                heapq.heappush(self._ready, (-state.rounds_left, self._sequence, job))
                self._sequence += 1

    @staticmethod
    def _pruned(state: _CellState, job: Job) -> Outcome | None:
        return state.proposals.pruned(job.number) if job.phase == "tune" and state.proposals is not None else None

    def _settle_all(self) -> None:
        while self._unsettled:
            job, outcome, reused = self._unsettled.pop(0)
            self._settle(job, self._checked(job, outcome), reused)

    def _settle(self, job: Job, outcome: Outcome, reused: bool) -> None:
        state = self.cells[job.index]
        (state.tuned if job.phase == "tune" else state.confirmed)[job.number] = (job, outcome)
        if job.phase == "tune" and state.proposals is not None:
            if outcome.lasting:
                state.proposals.tell(job.number, outcome, outcome.scores.get(self.objective(job)), job.key)
            else:
                state.proposals.note(job.number, outcome.error)
        self._on_end(job, outcome, reused)
        state.open.discard(job.number)
        if not state.open:
            if job.phase == "confirm":
                state.done = True
            else:
                self._next_round(state)

    def _checked(self, job: Job, outcome: Outcome) -> Outcome:
        """The outcome, or a failure if the objective is missing or not finite."""
        if outcome.status != FINISHED:
            return outcome
        key = self.objective(job)
        value = outcome.scores.get(key)
        if value is not None and math.isfinite(value):
            return outcome
        problem = f"is {value}" if value is not None else f"is missing. Scores: {', '.join(sorted(outcome.scores))}"
        return Outcome(**{**vars(outcome), "status": FAILED, "error": f"the objective {key!r} {problem}"})

    def _earlier(self, state: _CellState, job: Job) -> list[tuple[Mapping[int, float], bool]]:
        """Curves of the cell's earlier rounds, for `Pruning`."""
        first = state.rounds[state.round].start
        curves: list[tuple[Mapping[int, float], bool]] = []
        for number in range(first):
            other, outcome = state.tuned[number]
            if outcome.status == FAILED or not outcome.curve:
                continue
            key = self.objective(other)
            curves.append(({step: scores[key] for step, scores in outcome.curve}, outcome.status != PRUNED))
        return curves

    def _every(self) -> int:
        return self.study.evaluation.every or self.study.training.steps
