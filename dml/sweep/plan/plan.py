"""Decides which trial runs next. It does not know where trials run, nor how a search proposes them.

Each cell has as many states as there are class splits, which share nothing: each is tuned and confirmed by itself
(`dml.sweep.plan.cells.life`). Outcomes in the store are reused. The plan is rebuilt from the study and the store at
each start, so it saves no state.

The life of one trial, and what it is called on the way:

    life, Strategy           a cell's next settings become a `Job`: cell, phase, seed, settings, `TrialSpec`, key
    Plan.take                the job waits until Ray has room, unless the store has its key
    execution.search         the searcher gives Ray Tune the job as a dict
    execution.trial          in a worker, the dict is a `TrialConfig`
    execution.trial_run      the trainer's `TrialResult` becomes an `Outcome`, and `result.json` in the store
    Plan.end                 the job and its outcome are sent to the life of its cell, which may offer the next round
    progress.results         each pair is a row of `trials.parquet`
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any

from dml.config import Study, stops_at_best
from dml.config.search import evaluated_steps
from dml.data import splits
from dml.sweep.plan import cells, keys, specs
from dml.sweep.plan.cells import CellState, Ended, Job, Offers, OnEnd, life
from dml.sweep.plan.space import strategy_of
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore


class Plan:
    """The state of a sweep."""

    def __init__(
        self,
        study: Study,
        store: TrialStore,
        describe: specs.Describe,
        find_init_from: specs.FindInitFrom | None = None,
        rates: specs.EstimateRate | None = None,
    ):
        self.study, self.store = study, store
        self._describe, self._find_init_from, self._rates = cache(describe), find_init_from, rates
        self._ready: list[tuple[int, int, Job]] = []
        self._sequence = 0
        self.running: dict[str, Job] = {}
        self._sharing: dict[str, list[Job]] = {}  # key -> trials that wait for a running one with the same key
        self._lives: list[Offers] = []
        self._unsettled: list[Ended] = []
        self.cells = study.cells()
        each = enumerate(itertools.product(self.cells, range(study.splits)))
        self.states = [CellState(i, cell, strategy_of(study, cell, split), split) for i, (cell, split) in each]

    def start(self, on_end: OnEnd) -> None:
        """Reuse outcomes from the store, and prepare the first trials."""
        self._lives = [life(self.study, state, partial(self._job, state), on_end) for state in self.states]
        for state in self.states:
            self._offer(state, None)
        self._settle_all()

    @property
    def finished(self) -> bool:
        """Whether every cell is confirmed, or has failed."""
        return all(state.done for state in self.states)

    @property
    def total(self) -> int:
        """The number of trials in the study."""
        return sum((s.strategy.trials if s.strategy else 0) + len(self.study.seeds) for s in self.states)

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

    def end(self, job_id: str, outcome: Outcome) -> None:
        """Report the outcome of a running trial."""
        job = self.running.pop(job_id)
        self._unsettled.append(Ended(job, outcome, False))
        self._unsettled += [Ended(other, outcome, True) for other in self._sharing.pop(job.key, [])]
        self._settle_all()

    def ended(self) -> Iterable[tuple[Job, Outcome]]:
        """All trials that ended, in the study's order."""
        for state in self.states:
            for trials in (state.tuned, state.confirmed):
                yield from (trials[number] for number in sorted(trials))

    def _job(self, state: CellState, phase: str, number: int, seed: int, settings: Mapping[str, Any]) -> Job:
        study, cell, split = self.study, state.cell, state.split
        data_phase = "tune" if specs.protocol_of(study, phase) == "train_val_test" else phase
        digests = self._describe(splits.data_name(cell.dataset, split), cell.noise, cell.rate, seed, data_phase)
        spec = specs.build(study, cell, phase, seed, settings, digests, self._find_init_from, split)
        if self._rates is not None:
            spec = specs.with_rate(spec, self._rates)
        job_id = f"{state.index}-{phase}-{number}"
        return Job(job_id, state.index, cell, phase, number, seed, settings, spec, keys.key(spec), split)

    def _offer(self, state: CellState, ended: Ended | None) -> None:
        """Tell a cell what ended (None: it begins), and submit what it offers."""
        try:
            jobs = self._lives[state.index].send(ended)  # type: ignore[arg-type]
        except StopIteration:
            state.done = True
            return
        for job in jobs:
            self._submit(job)

    def _submit(self, job: Job) -> None:
        outcome = self.store.read(job.key)
        if outcome is not None and self._comparable(job, outcome):
            self._unsettled.append(Ended(job, outcome, True))
        elif job.key in self._sharing:
            self._sharing[job.key].append(job)
        else:
            self._sharing[job.key] = []
            heapq.heappush(self._ready, (-self.states[job.index].rounds_left, self._sequence, job))
            self._sequence += 1

    def _comparable(self, job: Job, outcome: Outcome) -> bool:
        """Whether this search can use a stored outcome of a tuning trial.

        Snapshots contain curves only for their own study's search, and of large studies only its objective.
        """
        if job.phase != "tune" or outcome.status != FINISHED:
            return True
        objective = cells.objective(self.study, job)
        evaluated = {step for step, scores in outcome.curve if objective in scores}
        if stops_at_best(self.study.search, job.phase):
            return evaluated.issuperset(evaluated_steps(job.spec.training.steps, job.spec.evaluation.every or 1))
        return objective in outcome.scores

    def _settle_all(self) -> None:
        while self._unsettled:
            ended = self._unsettled.pop(0)
            self._offer(self.states[ended.job.index], ended)
