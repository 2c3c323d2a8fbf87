"""Connects the plan to Ray Tune: one searcher for all cells, one stopper, and a callback for workers that died."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ray
from ray.tune import Callback, Stopper
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from dml.files import DISK_FULL
from dml.sweep.plan import keys
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.store import remote
from dml.sweep.store.trials import FAILED, Outcome

QUOTES = "'\""  # around the path in an OSError's text
FREE_SECONDS = 2.0  # between two attempts to free the places of a dead driver's workers
END_ATTEMPTS = 40  # to free all places after the sweep
QUIET_ATTEMPTS = 12  # in which a stopped sweep took no place: Ray Train's controllers of killed drivers have ended
DEAD_SECONDS = 60.0  # in which Ray Train's controller may still ask for places after its driver died

Free = Callable[[Collection[str] | None], int]
"""Frees the places of the workers of drivers by the ids of their actors, or of all (None). Returns how many."""


class PlanStopper(Stopper):
    """Notes the evaluations of running trials but for each last one, and stops the whole sweep on request."""

    def __init__(self, plan: Plan, on_evaluation: Callable[[Job, list[Any], float], None]):
        self._plan, self._on_evaluation = plan, on_evaluation
        self.trials: dict[str, tuple[Job, list[Any]]] = {}  # Ray's trial id -> job, [[step, scores], ...]
        self.workers: Callable[[], list[Any]] = list  # handles of the running workers
        self._problem: BaseException | None = None

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        if trial_id not in self.trials or not result.get("point"):
            return False
        job, curve = self.trials[trial_id]
        curve.append(json.loads(result["point"]))
        if not result.get("outcome"):
            with self.guarded():
                self._on_evaluation(job, curve, float(result.get("time_total_s", 0.0)))
        return False

    def stop(self, problem: BaseException) -> None:
        """End the sweep. `raise_problem` raises `problem` after all workers have stopped."""
        self._problem = self._problem or problem

    @property
    def stopped(self) -> bool:
        """Whether a problem ended the sweep, perhaps in the middle of trials."""
        return self._problem is not None

    def stop_all(self) -> bool:
        if not self.stopped:
            return False
        for worker in self.workers():
            ray.kill(worker)  # a training worker would react only at its next evaluation
        return True

    def raise_problem(self) -> None:
        """Raise the error that ended the sweep, if any."""
        if self._problem is not None:
            raise self._problem

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Ray Tune pickles the stopper, but the copy is never used."""
        return {}

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """End the sweep with an error of the driver as it is; Ray Tune would convert it to text."""
        try:
            yield
        except Exception as error:
            self.stop(error)


class CellSearcher(Searcher):
    """Gives Ray Tune the next trial of any cell, and no more than `slots` says: others would queue for a place."""

    def __init__(self, plan: Plan, shared: Mapping[str, Any], slots: Callable[[], int], stopper: PlanStopper):
        super().__init__()
        self._plan, self._shared, self._slots, self._stopper = plan, dict(shared), slots, stopper
        self._returned: Counter[str] = Counter()  # job id -> how often its worker died before the trial began

    def suggest(self, trial_id: str) -> Any:
        if self._plan.finished:
            return Searcher.FINISHED
        if len(self._plan.running) >= self._slots():
            return None
        job = self._plan.take()
        if job is None:
            return None
        self._stopper.trials[trial_id] = job, []
        record = keys.canonical(keys.record(job.spec))
        return {**self._shared, "key": job.key, "spec": job.spec, "record": record}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Report a trial that ended. `Watch` reports errors, because only it knows their text."""
        if error or trial_id not in self._stopper.trials:
            return
        job, _ = self._stopper.trials.pop(trial_id)
        if not result or not result.get("outcome"):
            return  # the sweep stops
        outcome = Outcome(**json.loads(result["outcome"]))
        if outcome.errno in (*DISK_FULL, remote.ERRNO):
            self._stopper.stop(machines_problem(outcome))
        else:
            self._end(job, outcome)

    def again(self, trial_id: str, most: int) -> bool:
        """Give a trial that no worker began back to the plan, unless that has happened more than so many times."""
        job, _ = self._stopper.trials.get(trial_id, (None, []))
        if job is None or self._returned[job.id] >= most:
            return False
        del self._stopper.trials[trial_id]
        self._returned[job.id] += 1
        self._plan.give_back(job.id)
        return True

    def fail(self, trial_id: str, text: str) -> None:
        """Report a trial whose workers died more often than `MAX_FAILURES`."""
        job, _ = self._stopper.trials.pop(trial_id, (None, []))
        if job is not None:
            self._end(job, Outcome(FAILED, error=text, lasting=False))

    def _end(self, job: Job, outcome: Outcome) -> None:
        with self._stopper.guarded():
            self._plan.end(job.id, outcome)

    def save(self, checkpoint_path: str) -> None:
        """Does nothing: the plan is rebuilt from the store."""

    def restore(self, checkpoint_path: str) -> None:
        """Does nothing: the plan is rebuilt from the store."""


class FreeWorkers(FIFOScheduler):
    """Gives a worker that became free to the first trial that waits and for which no other worker is being started.

    Ray Tune by itself gives it to the first that waits, and ends the worker that starts for that one on another node.
    Where trials take no longer than workers to start, nodes that join never begin.
    """

    def __init__(self, places: Callable[[], int]):
        super().__init__()
        self._places = places

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        status = [(trial, trial.status) for trial in tune_controller.get_trials()]
        waiting = [trial for trial, at in status if at == trial.PENDING]
        starting = self._places() - sum(at == trial.RUNNING for trial, at in status)  # for the first that wait
        return waiting[max(0, min(starting, len(waiting) - 1))] if waiting else None

    def __getstate__(self) -> dict[str, Any]:
        """Nothing, as that of `PlanStopper`."""
        return {}


def machines_problem(outcome: Outcome) -> OSError:
    """The error of a node's disk, or of the storage, in a trial's traceback as one of the sweep that names the node."""
    line = outcome.error.rstrip().splitlines()[-1]  # `OSError: [Errno 28] No space left on device: '/path'`
    if outcome.errno == remote.ERRNO:
        return remote.StorageError(f"{line.partition(': ')[2]} (node {outcome.host})")
    path = line.rpartition(": ")[2].strip(QUOTES) if line.endswith(tuple(QUOTES)) else "a trial's file"
    return OSError(outcome.errno, os.strerror(outcome.errno), f"{path} (node {outcome.host})")


class Watch(Callback):
    """Reports trials whose workers died to the searcher, and running workers to the stopper."""

    def __init__(self, searcher: CellSearcher, stopper: PlanStopper, on_resume: Callable[[], None], free: Free | None):
        self._searcher, self._stopper, self._on_resume, self._free = searcher, stopper, on_resume, free
        self._drivers: dict[str, Any] = {}  # Ray's trial id -> the actor that runs it
        self._dead: dict[str, float] = {}  # actor id -> when it was last seen
        self._freed = 0.0
        self._trials: list[Any] = []
        stopper.workers = self._workers

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Note which actors run trials, and free the places of those that died."""
        self._trials = trials
        for trial in trials if self._free is not None else ():
            if (driver := trial.temporary_state.ray_actor) is not None:
                self._drivers[trial.trial_id] = driver
        now = time.monotonic()
        if self._free is not None and self._dead and now - self._freed > FREE_SECONDS:
            self._freed = now
            self._free(self._dead)
            self._dead = {driver: died for driver, died in self._dead.items() if now - died < DEAD_SECONDS}

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        if self._free is not None:
            self._drivers[trial.trial_id] = trial.temporary_state.ray_actor

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        # Ray Tune resumes no trial that waits for a reused worker to take it, however often it may fail.
        if trial.should_recover() and self._searcher.again(trial.trial_id, trial.max_failures):
            self._on_resume()
        else:
            text = f"the trial's worker died too often; the last error:\n{trial.get_error()}"
            self._searcher.fail(trial.trial_id, text)
        self._lost(trial)

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._on_resume()
        self._lost(trial)

    def _lost(self, trial: Any) -> None:
        if trial.trial_id in self._drivers:
            self._dead[self._drivers.pop(trial.trial_id)._actor_id.hex()] = time.monotonic()

    def end(self) -> None:
        """Kill the drivers and free their places, after the sweep.

        Most ended. One whose workers never found room still waits for them, and would ask for their places again.
        """
        if self._free is None:
            return
        for driver in self._drivers.values():
            ray.kill(driver)
        quiet, needed = 0, QUIET_ATTEMPTS if self._stopper.stopped else 1
        for _ in range(END_ATTEMPTS):
            time.sleep(0.5)  # in which killed drivers end
            quiet = 0 if self._free(None) else quiet + 1
            if quiet >= needed:
                break

    def _workers(self) -> list[Any]:
        workers = (trial.temporary_state.ray_actor for trial in self._trials if trial.status == trial.RUNNING)
        return [worker for worker in workers if worker is not None]
