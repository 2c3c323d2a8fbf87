"""Decides which trial runs next: the search and the confirmation of every cell. It does not know where trials run.

Each cell has as many states as there are class splits, which share nothing: each is tuned and confirmed by itself.
A cell is tuned round by round (`proposals`), then its best settings are confirmed once per seed. With `search.stop:
best`, the best point of the best tuning trial's curve also says after how many steps the confirmed trials end; a cell
without searched settings then has one tuning trial. With `search.early_stopping`, all trials of a cell are proposed and
trained for some steps first, then some are promoted round by round (`halving`). Only validation classes decide.
Outcomes in the store are reused.
The plan is rebuilt from the study, the store and Optuna's storage at each start, so it saves no state.

The life of one trial, and what it is called on the way:

    Plan, Proposals          a cell's next settings become a `Job`: cell, phase, seed, settings, `TrialSpec`, key
    Plan.take                the job waits until Ray has room, unless the store has its key
    execution.search         the searcher gives Ray Tune the job as a dict
    execution.trial          in a worker, the dict is a `TrialConfig`
    execution.trial_run      the trainer's `TrialResult` becomes an `Outcome`, and `result.json` in the store
    Plan.end                 the job and its outcome are settled together; the next round may begin
    progress.results         each pair is a row of `trials.parquet`
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import optuna

from dml.config import Study, best_point, ladder, stops_at_best, value_of
from dml.config.stopping import evaluated_steps
from dml.data import class_splits
from dml.sweep.plan import keys, specs
from dml.sweep.plan.cells import CellState, checked
from dml.sweep.plan.halving import Halving, paused_at
from dml.sweep.plan.jobs import Job, split_name
from dml.sweep.plan.proposals import Proposals
from dml.sweep.plan.space import space_of, tuning_trials
from dml.sweep.store.trials import FINISHED, PAUSED, Outcome, TrialStore
from dml.types import Cell, TrialSpec


class Plan:
    """The state of a sweep.

    Parameters
    ----------
    study : what is compared.
    store : outcomes of earlier trials.
    describe : returns the digests of a trial's data.
    storage : Optuna's storage, shared by all cells.
    find_init_from : finds the weights of `training.init_from`; needed if the study sets it.
    rates : estimates the rate of wrong labels for filters that assume an estimated one; needed if the study has any.
    """

    def __init__(
        self,
        study: Study,
        store: TrialStore,
        describe: specs.Describe,
        storage: optuna.storages.BaseStorage,
        find_init_from: specs.FindInitFrom | None = None,
        rates: specs.EstimateRate | None = None,
    ):
        self.study, self.store = study, store
        self._describe, self._find_init_from, self._rates = describe, find_init_from, rates
        self._on_end: Callable[[Job, Outcome, bool], None] = lambda job, outcome, reused: None
        self._digests: dict[tuple[Any, ...], Mapping[str, str]] = {}
        self._ready: list[tuple[int, int, Job]] = []
        self._sequence = 0
        self.running: dict[str, Job] = {}
        self._sharing: dict[str, list[Job]] = {}  # key -> trials that wait for a running one with the same key
        self._unsettled: list[tuple[Job, Outcome, bool]] = []
        self.cells = study.cells()
        each = itertools.product(self.cells, range(study.splits))
        self.states = [self._cell(index, cell, split, storage) for index, (cell, split) in enumerate(each)]

    def start(self, on_end: Callable[[Job, Outcome, bool], None]) -> None:
        """Reuse outcomes from the store, and prepare the first trials.

        Parameters
        ----------
        on_end : called for each trial that ended, with its job, its outcome, and whether the outcome is reused.
        """
        self._on_end = on_end
        for state in self.states:
            self._next_round(state)
        self._settle_all()

    @property
    def finished(self) -> bool:
        """Whether every cell is confirmed, or has failed."""
        return all(state.done for state in self.states)

    @property
    def total(self) -> int:
        """The number of trials in the study."""
        return sum((s.proposals.total if s.proposals else 0) + len(self.study.seeds) for s in self.states)

    def take(self) -> Job | None:
        """The next trial to run, longest searches first; None if no trial is ready."""
        if not self._ready:
            return None
        job = heapq.heappop(self._ready)[2]
        self.running[job.id] = job
        return job

    def give_back(self, job_id: str) -> None:
        """A running trial never began: `take` returns it before others of its rank."""
        job = self.running.pop(job_id)
        self._sequence += 1
        heapq.heappush(self._ready, (-self.states[job.index].rounds_left, -self._sequence, job))

    def report(self, job_id: str, step: int, scores: Mapping[str, float]) -> None:
        """Report a running trial's evaluation."""
        job = self.running[job_id]
        proposals = self.states[job.index].proposals
        if job.phase == "tune" and proposals is not None:
            proposals.report(job.number, step, scores.get(self.objective(job), math.nan))

    def end(self, job_id: str, outcome: Outcome) -> None:
        """Report the outcome of a running trial."""
        job = self.running.pop(job_id)
        self._unsettled.append((job, outcome, False))
        for other in self._sharing.pop(job.key, []):
            if outcome.status != PAUSED or outcome.evaluated(other.until):
                self._unsettled.append((other, outcome, True))
            else:
                self._submit(other)  # another cell's, which trains further
        self._settle_all()

    def ended(self) -> Iterable[tuple[Job, Outcome]]:
        """All trials that ended, in the study's order."""
        for state in self.states:
            for trials in (state.tuned, state.confirmed):
                yield from (trials[number] for number in sorted(trials))

    def objective(self, job: Job) -> str:
        """The score that a trial maximises: on validation classes in `tune`, on the first set in `confirm`."""
        return self.study.objective(job.cell.dataset, "validation" if job.phase == "tune" else "")

    def best(self, index: int) -> tuple[Job, Outcome] | None:
        """A cell's best tuning trial, the first one in a tie; None if no trial finished."""
        return self.states[index].best(self.value)

    def value(self, job: Job, outcome: Outcome) -> float | None:
        """What a trial counts with: its objective at the end, or the best on its curve (`search.stop`)."""
        return value_of(self.study.search, job.phase, self.objective(job), outcome.scores, outcome.curve)

    def _cell(self, index: int, cell: Cell, split: int, storage: optuna.storages.BaseStorage) -> CellState:
        spaces = space_of(self.study, cell)
        if not tuning_trials(self.study, cell):
            return CellState(index, cell, None, [], split=split)
        spec = self._spec(cell, split, "tune", self.study.search.seed, {})
        own = split_name(cell, split)
        name = f"{self.study.name}|{own}|{self._search(cell, spec)[:8]}"
        proposals = Proposals(self.study.search, spaces, name, own, storage)
        rungs = ladder(self.study.search, proposals.total, spec.training.steps, spec.evaluation.every or 0)
        halving = Halving(rungs) if len(rungs.steps) > 1 else None
        return CellState(index, cell, proposals, proposals.rounds(), halving, split)

    def _search(self, cell: Cell, spec: TrialSpec) -> str:
        """The digest of all that the proposals of a cell's search depend on."""
        left_out = {"trials", "protocol", "stop", "validation"}  # the key has the labels that choose
        if self.study.search.early_stopping == "none":
            left_out |= {"early_stopping", "reduction", "first_rung"}  # as before there was early stopping
        search = {"pruner": "none", **self.study.search.model_dump(mode="json", exclude=left_out)}  # there were pruners
        terms = {name: repr(space) for name, space in space_of(self.study, cell).items()}
        # The budget determines the rounds, so another budget is another search. Equal trials still reuse the store.
        return keys.digest([keys.key(spec), search, self.study.search.trials, terms])

    def _spec(self, cell: Cell, split: int, phase: str, seed: int, settings: Mapping[str, Any]) -> TrialSpec:
        digests = self._data(cell, split, phase, seed)
        return specs.build(self.study, cell, phase, seed, settings, digests, self._find_init_from, split)

    def _data(self, cell: Cell, split: int, phase: str, seed: int) -> Mapping[str, str]:
        protocol, name = specs.protocol_of(self.study, phase), class_splits.data_name(cell.dataset, split)
        asked = (name, cell.noise, cell.rate, seed, "tune" if protocol == "train_val_test" else phase)
        if asked not in self._digests:
            self._digests[asked] = self._describe(*asked)
        return self._digests[asked]

    def _next_round(self, state: CellState) -> None:
        state.round += 1
        index = state.index
        if state.proposals is not None and state.round < len(state.rounds):
            numbers = state.rounds[state.round]
            settings = {n: state.proposals.ask(n) for n in numbers}
            until = None if state.halving is None else state.halving.until
            jobs = [self._job(index, "tune", n, self.study.search.seed, settings[n]) for n in numbers]
            self._offer(state, [replace(job, until=until) for job in jobs])
            return
        if state.halving is not None:
            promoted = state.halving.promote()
            if promoted:
                self._offer(state, promoted)
                return
            for job, outcome, reused in state.halving.dropped():
                state.tuned[job.number] = (job, outcome)
                self._on_end(job, outcome, reused)
        best = self.best(index)
        if state.proposals is not None and best is None:
            state.done = True  # every trial of the search failed, so there is nothing to confirm
            return
        chosen = {**best[0].settings, **self._stop(*best)} if best else {}
        seeds = enumerate(self.study.seeds)
        self._offer(state, [self._job(index, "confirm", number, seed, chosen) for number, seed in seeds])

    def _stop(self, job: Job, outcome: Outcome) -> dict[str, int]:
        """After how many steps trials with the settings of a tuning trial end, as a setting; empty: after all."""
        best = best_point(outcome.curve, self.objective(job)) if stops_at_best(self.study.search, job.phase) else None
        return {} if best is None else {specs.STOP_AT: best[0]}

    def _job(self, index: int, phase: str, number: int, seed: int, settings: Mapping[str, Any]) -> Job:
        cell, split = self.states[index].cell, self.states[index].split
        spec = self._spec(cell, split, phase, seed, settings)
        if self._rates is not None:
            spec = specs.with_rate(spec, self._rates)
        name = f"{index}-{phase}-{number}"
        return Job(name, index, cell, phase, number, seed, settings, spec, keys.key(spec), split=split)

    def _offer(self, state: CellState, jobs: list[Job]) -> None:
        state.open = {job.number for job in jobs}
        for job in jobs:
            self._submit(job)

    def _submit(self, job: Job) -> None:
        state = self.states[job.index]
        outcome = self.store.reached(job.key, job.until)
        if outcome is not None and self._comparable(job, outcome):
            self._unsettled.append((job, outcome, True))
        elif job.key in self._sharing:
            self._sharing[job.key].append(job)
        else:
            self._sharing[job.key] = []
            heapq.heappush(self._ready, (-state.rounds_left, self._sequence, job))
            self._sequence += 1

    def _comparable(self, job: Job, outcome: Outcome) -> bool:
        """Whether this search can use a stored outcome of a tuning trial.

        Snapshots contain curves only for their own study's search, and of large studies only its objective.
        """
        if job.phase != "tune" or outcome.status != FINISHED:
            return True
        if job.until is not None and not any(
            step == job.until and self.objective(job) in scores for step, scores in outcome.curve
        ):
            return False
        if stops_at_best(self.study.search, job.phase):
            found = {step for step, scores in outcome.curve if self.objective(job) in scores}
            return found.issuperset(evaluated_steps(job.spec.training.steps, job.spec.evaluation.every or 1))
        return self.objective(job) in outcome.scores

    def _settle_all(self) -> None:
        while self._unsettled:
            job, outcome, reused = self._unsettled.pop(0)
            if job.until is not None:
                outcome = paused_at(outcome, job.until)
            self._settle(job, checked(outcome, self.objective(job), self.value(job, outcome)), reused)

    def _settle(self, job: Job, outcome: Outcome, reused: bool) -> None:
        state = self.states[job.index]
        if job.phase == "tune" and state.proposals is not None:
            if outcome.lasting:
                state.proposals.tell(job.number, outcome, self.value(job, outcome), job.key)
            else:
                state.proposals.note(job.number, outcome.error)
        if job.phase == "tune" and state.halving is not None:
            state.halving.end(job, outcome, self.value(job, outcome), reused)
        if outcome.status != PAUSED:
            (state.tuned if job.phase == "tune" else state.confirmed)[job.number] = (job, outcome)
            self._on_end(job, outcome, reused)
        state.open.discard(job.number)
        if not state.open:
            if job.phase == "confirm":
                state.done = True
            else:
                self._next_round(state)
