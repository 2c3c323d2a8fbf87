"""The state of one cell in a sweep: its search, its confirmation, and their trials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from dml.sweep.plan.halving import Halving
from dml.sweep.plan.jobs import Job, split_name
from dml.sweep.plan.proposals import Proposals
from dml.sweep.store.trials import FAILED, FINISHED, PAUSED, Outcome
from dml.types import Cell


@dataclass(eq=False)
class CellState:
    """What is known about one cell, on one class split."""

    index: int  # in the plan
    cell: Cell
    proposals: Proposals | None  # None: nothing is searched
    rounds: list[range]  # of proposals
    halving: Halving | None = None  # None: no trial pauses
    split: int = 0  # the class split
    round: int = -1
    open: set[int] = field(default_factory=set)  # numbers of the current round's trials that have not ended
    tuned: dict[int, tuple[Job, Outcome]] = field(default_factory=dict)
    confirmed: dict[int, tuple[Job, Outcome]] = field(default_factory=dict)
    done: bool = False

    @property
    def name(self) -> str:
        """The cell's name, and its class split unless that is the first."""
        return split_name(self.cell, self.split)

    @property
    def rounds_left(self) -> int:
        """The number of rounds from the current one on."""
        promotions = 0 if self.halving is None else len(self.halving.ladder.steps) - 1
        return len(self.rounds) + promotions - self.round

    def best(self, value: Callable[[Job, Outcome], float | None]) -> tuple[Job, Outcome] | None:
        """The best tuning trial, the first one in a tie; None if no trial finished.

        Parameters
        ----------
        value : returns what a trial counts with.
        """
        finished = [self.tuned[n] for n in sorted(self.tuned) if self.tuned[n][1].status == FINISHED]
        return max(finished, key=lambda pair: -math.inf if (own := value(*pair)) is None else own, default=None)


def checked(outcome: Outcome, objective: str, value: float | None) -> Outcome:
    """The outcome, or a failure if the trial finished or paused without a finite objective.

    Parameters
    ----------
    value : what the trial counts with.
    """
    if outcome.status not in (FINISHED, PAUSED):
        return outcome
    if value is not None and math.isfinite(value):
        return outcome
    problem = f"is {value}" if value is not None else f"is missing. Scores: {', '.join(sorted(outcome.scores))}"
    return Outcome(**{**vars(outcome), "status": FAILED, "error": f"the objective {objective!r} {problem}"})
