"""Synchronous successive halving of a cell's tuning trials (`search.early_stopping: halving`).

All n trials of a cell train to the first rung, a number of steps. There one in `search.reduction` (eta) is promoted
and trains on to the next rung, and so on, until those that are left have all R steps. Rung k of s has R / eta^(s - k)
steps, moved to the nearest evaluation, and max(1, floor(n / eta^k)) trials. s is the number of rounds after which one
trial is left. No rung is before `search.first_rung` of the steps, or before the first evaluation: of the rungs that
would be, one is left, and it is there. With eta = 3 and 0.17, the default, n, n / 3 and n / 9 trials have 0.17, 1/3
and all of R. That is 30% of the steps of n whole trials.

All trials of a round end before any of the next one begins, and the choice depends on their values only. Asynchronous
halving (Ray Tune's ASHA, Optuna's pruner) decides when a result arrives, so it depends on timing. A promoted trial
resumes from its checkpoint under the same key, so its result is that of a trial that was never paused. A trial that
fails gives its place in every round to the next best, as if it had never been proposed.

References
----------
Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016.
Li et al., "Hyperband", JMLR 2018: this is one of its brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dml.config import SearchSection
from dml.sweep.plan.strategies import Result, Rounds, Strategy, Trial


@dataclass(frozen=True)
class Ladder:
    """The rungs of one cell's search, the first one first. The last rung is the full length."""

    steps: tuple[int, ...]
    trials: tuple[int, ...]  # that reach each rung

    @property
    def cost(self) -> int:
        """Training steps of all trials, each counted once, since a promoted trial resumes."""
        added = [now - before for before, now in zip((0, *self.steps), self.steps, strict=False)]
        return sum(steps * trials for steps, trials in zip(added, self.trials, strict=True))


def ladder(search: SearchSection, trials: int, steps: int, every: int) -> Ladder:
    """The rungs of a cell; the full length only, if no evaluation is early enough.

    Parameters
    ----------
    trials : of the cell's search.
    steps : of a trial that no search stops.
    every : steps between two evaluations; 0: only at the end.
    """
    eta, rungs, share = search.reduction, [steps], 1.0  # the last rung first
    if 0 < every * eta <= steps:
        while share > search.first_rung and trials // eta ** (len(rungs) - 1) > 1:
            share = max(share / eta, search.first_rung)
            step = max(every, every * int(steps * share / every + 0.5))  # the nearest; in a tie the later
            if step >= rungs[-1]:
                break
            rungs.append(step)
    return Ladder(tuple(reversed(rungs)), tuple(max(1, trials // eta**k) for k in range(len(rungs))))


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


class Halving:
    """Pauses the trials of another strategy on rungs, and promotes the best. Proposals end before the first promotion.

    Parameters
    ----------
    proposing : the other strategy, which is told what each trial has on the first rung.
    search, steps, every : as `ladder` takes them.
    """

    def __init__(self, proposing: Strategy, search: SearchSection, steps: int, every: int):
        self._proposing, self.trials = proposing, proposing.trials
        self.ladder = ladder(search, self.trials, steps, every)
        self.count = proposing.count + len(self.ladder.steps) - 1

    def steps(self, steps: int) -> int:
        return self.ladder.cost

    def rounds(self) -> Rounds:
        until = (*self.ladder.steps[:-1], None)  # the last rung is a trial's end
        paused: dict[int, tuple[Trial, str]] = {}  # by number, with its key
        values: dict[str, list[float]] = {}  # of each key that has not failed, on each rung that it reached
        failed: set[str] = set()

        def note(rung: int, trials: Sequence[Trial], results: Mapping[int, Result]) -> None:
            for trial in trials:
                result = results[trial.number]
                paused.pop(trial.number, None)
                if result.value is None:
                    failed.add(result.key)
                    continue
                if result.paused:
                    paused[trial.number] = trial, result.key
                reached = values.setdefault(result.key, [])
                if len(reached) == rung:
                    reached.append(result.value)

        proposals = self._proposing.rounds()
        trials: Sequence[Trial] = list(next(proposals))
        while trials:
            results = yield [trial._replace(until=until[0]) for trial in trials]
            note(0, trials, results)
            try:
                trials = list(proposals.send(results))
            except StopIteration:
                break
        while True:
            numbered = [paused[number] for number in sorted(paused)]
            alive = {key: reached for key, reached in values.items() if key not in failed}
            promoted = promotions(self.ladder.trials, alive, list(dict.fromkeys(key for _, key in numbered)))
            if promoted is None:
                return
            rung, keys = promoted
            trials = [trial for trial, key in numbered if key in keys]
            if not trials:
                return
            results = yield [trial._replace(until=until[rung]) for trial in trials]
            note(rung, trials, results)
