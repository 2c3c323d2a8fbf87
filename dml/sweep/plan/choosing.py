"""Which cells and trials of a study are the best ones. Cells are compared by validation scores only."""

from __future__ import annotations

from statistics import fmean

from dml.sweep.plan.jobs import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FINISHED, Outcome


def validation(plan: Plan, index: int) -> float | None:
    """The best validation score of a cell's search; None if it has none."""
    best = plan.best(index)
    return None if best is None else plan.value(*best)


def ranking(plan: Plan) -> list[int]:
    """The cells with a finished confirmation, best validation score first, never by the test score.

    A study without tuning has no validation scores; then the cells are in the study's order. A cell counts with the
    mean over its class splits, which come one after another.
    """
    found = [index for index in range(len(plan.states)) if finished(plan, index)]
    by_cell: dict[str, list[float]] = {}
    for index in found:
        if (score := validation(plan, index)) is not None:
            by_cell.setdefault(plan.states[index].cell.name, []).append(score)
    scored = {index: fmean(own) for index in found if (own := by_cell.get(plan.states[index].cell.name))}
    return sorted(scored, key=lambda index: -scored[index]) or found


def finished(plan: Plan, index: int) -> list[tuple[Job, Outcome]]:
    """A cell's finished confirmations, in the order of the seeds."""
    confirmed = plan.states[index].confirmed
    return [confirmed[n] for n in sorted(confirmed) if confirmed[n][1].status == FINISHED]
