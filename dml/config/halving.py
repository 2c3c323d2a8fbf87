"""Successive halving of a cell's tuning trials (`search.early_stopping: halving`): after how many steps, and how many.

All n trials of a cell train to the first rung, a number of steps. There one in `search.reduction` (eta) is promoted
and trains on to the next rung, and so on, until those that are left have all R steps. Rung k of s has R / eta^(s - k)
steps, moved to the nearest evaluation, and max(1, floor(n / eta^k)) trials. s is the number of rounds after which one
trial is left (Jamieson and Talwalkar, AISTATS 2016; one bracket of Li et al., JMLR 2018).

No rung is before `search.first_rung` of the steps, or before the first evaluation: of the rungs that would be, one is
left, and it is there. With eta = 3 and 0.17, the default, n, n / 3 and n / 9 trials have 0.17, 1/3 and all of R. That
is 30% of the steps of n whole trials.
"""

from __future__ import annotations

from dataclasses import dataclass

from dml.config.errors import LocatedError
from dml.config.search import SearchSection
from dml.config.stopping import tuning_every
from dml.config.study import Study
from dml.config.training import TrainingSection

HALVING = "halving"


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
    """The rungs of a cell; the full length only, if nothing is stopped early.

    Parameters
    ----------
    trials : of the cell's search.
    steps : of a trial that no search stops.
    every : steps between two evaluations; 0: only at the end.
    """
    eta, rungs, share = search.reduction, [steps], 1.0  # the last rung first
    if search.early_stopping == HALVING and 0 < every * eta <= steps:
        while share > search.first_rung and trials // eta ** (len(rungs) - 1) > 1:
            share = max(share / eta, search.first_rung)
            step = max(every, _nearest(steps * share, every))
            if step >= rungs[-1]:
                break
            rungs.append(step)
    return Ladder(tuple(reversed(rungs)), tuple(max(1, trials // eta**k) for k in range(len(rungs))))


def check(study: Study, training: TrainingSection) -> None:
    """Reject a search whose trials cannot be compared before their end.

    Parameters
    ----------
    training : of one of the study's cells.

    Raises
    ------
    LocatedError : with what was expected and what came.
    """
    search = study.search
    if search.early_stopping != HALVING:
        return
    eta = search.reduction
    if search.sampler == "fixed":
        raise _error("'halving' stops tuning trials, but with search.sampler 'fixed' nothing is searched")
    if search.trials < eta:
        raise _error(
            f"'halving' promotes one trial in {eta}: expected search.trials of at least {eta} (search.reduction), "
            f"got {search.trials}"
        )
    if "steps" in training.search:
        raise _error("'halving' compares trials after equal steps, but training.search has 'steps'")
    if training.steps < eta:
        raise _error(
            f"'halving' compares trials after a part of their steps: expected training.steps of at least {eta} "
            f"(search.reduction), got {training.steps}"
        )
    every = tuning_every(search, study.evaluation.every, training.steps)
    if every is None or every * eta > training.steps:
        got = "trials are only evaluated at their end" if every is None else f"got {every}"
        raise _error(
            f"'halving' compares trials after 1/{eta} of their {training.steps} steps or earlier: expected "
            f"evaluation.every of at most {training.steps // eta}; {got}"
        )


def _nearest(steps: float, every: int) -> int:
    """The evaluation nearest to a number of steps; the later one in a tie."""
    return every * int(steps / every + 0.5)


def _error(text: str) -> LocatedError:
    return LocatedError(text, "search", "early_stopping")
