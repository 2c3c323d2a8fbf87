"""Which tuning trials of a cell are promoted: synchronous successive halving (`search.early_stopping: halving`).

All trials of a round end before any of the next one begins, and the choice depends on their values only. So the same
trials are promoted whatever order or speed they run in, and again after an interruption. Asynchronous halving (Ray
Tune's ASHA, Optuna's pruner) decides when a result arrives, so it depends on timing.

A trial that waits is paused: its checkpoint stays, and its folder contains what it has reached. A promoted trial
resumes from there under the same key, so its result is that of a trial that was never paused.

A trial that fails gives its place in every round to the next best, as if it had never been proposed.

References
----------
Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016.
Li et al., "Hyperband", JMLR 2018: this is one of its brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dml.config import Ladder
from dml.sweep.plan.jobs import Job
from dml.sweep.store.trials import FAILED, FINISHED, PAUSED, PRUNED, Outcome


def promotions(
    places: Sequence[int], values: Mapping[str, Sequence[float]], order: Sequence[str]
) -> tuple[int, list[str]] | None:
    """The next rung that lacks trials, and the keys of those that are promoted to it, best first; None at the end.

    Parameters
    ----------
    places : the number of trials on each rung.
    values : of each trial that has not failed, its value on each rung that it has reached.
    order : all keys; the first one wins a tie.
    """
    rank = {key: place for place, key in enumerate(order)}
    for rung in range(1, len(places)):
        lacking = places[rung] - sum(len(reached) > rung for reached in values.values())
        waiting = [key for key, reached in values.items() if len(reached) == rung]
        if lacking > 0 and waiting:
            return rung, sorted(waiting, key=lambda key: (-values[key][rung - 1], rank[key]))[:lacking]
    return None


@dataclass(eq=False)
class Halving:
    """The rounds of one cell. Trials with equal keys are one, since they have one result."""

    ladder: Ladder
    rung: int = 0  # to which the running trials train
    paused: dict[int, tuple[Job, Outcome, bool]] = field(default_factory=dict)  # by number, with whether it was reused
    _values: dict[str, list[float]] = field(default_factory=dict)  # key -> its value on each rung that it reached
    _failed: set[str] = field(default_factory=set)

    @property
    def until(self) -> int | None:
        """After how many steps the running trials pause; None: they train to their end."""
        return None if self.rung == len(self.ladder.steps) - 1 else self.ladder.steps[self.rung]

    def end(self, job: Job, outcome: Outcome, value: float | None, reused: bool) -> None:
        """Note a trial that reached the present rung, with its value there, or failed on the way."""
        self.paused.pop(job.number, None)
        if value is None or outcome.status == FAILED:
            self._failed.add(job.key)
            return
        if outcome.status == PAUSED:
            self.paused[job.number] = job, outcome, reused
        reached = self._values.setdefault(job.key, [])
        if len(reached) == self.rung:
            reached.append(value)

    def promote(self) -> list[Job]:
        """Begin the next round. Returns its trials; empty: the search is over."""
        numbered = sorted(self.paused)
        order = list(dict.fromkeys(self.paused[number][0].key for number in numbered))
        alive = {key: reached for key, reached in self._values.items() if key not in self._failed}
        found = promotions(self.ladder.trials, alive, order)
        if found is None:
            return []
        self.rung, keys = found
        chosen = [self.paused[number][0] for number in numbered]
        return [replace(job, until=self.until) for job in chosen if job.key in keys]

    def dropped(self) -> list[tuple[Job, Outcome, bool]]:
        """The trials that fell behind, once the search is over, as pruned ones."""
        found = [self.paused.pop(number) for number in sorted(self.paused)]
        return [(job, replace(outcome, status=PRUNED), reused) for job, outcome, reused in found]


def paused_at(outcome: Outcome, steps: int) -> Outcome:
    """The outcome as it was after so many steps, whatever came later; a failure, if it was not evaluated there."""
    if outcome.status not in (FINISHED, PAUSED):
        return outcome
    curve = [point for point in outcome.curve if point[0] <= steps]
    if not curve or curve[-1][0] != steps:
        return replace(outcome, status=FAILED, error=f"the trial was not evaluated after {steps} steps", lasting=False)
    share = steps / max(1, outcome.curve[-1][0])
    return Outcome(
        PAUSED,
        scores=curve[-1][1],
        curve=curve,
        seconds=outcome.seconds * share,
        started=outcome.started,
        host=outcome.host,
    )
