"""Which cells get more seeds, with `seeds: auto`: those of undecided comparisons that more seeds may decide.

Comparisons are looked at together, when all cells have the seeds of the present look. So what is added depends on
scores only, whatever order or speed trials run in, and a plan that is rebuilt from the store adds the same seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dml import sequential, statistics
from dml.config import Study
from dml.config.comparisons import Named, named_comparisons
from dml.sweep.plan.cells import CellState
from dml.sweep.store.trials import FINISHED


def adding(study: Study, states: Sequence[CellState], looks: tuple[int, ...], look: int) -> set[int]:
    """The indices of the states that get the seeds of the next look; none after the last one.

    Parameters
    ----------
    looks : all planned ones.
    look : how many were made, this one included.
    """
    if look >= len(looks):
        return set()
    by_name = {state.cell.name: state for state in states}
    comparisons = named_comparisons(study)
    differences = [_differences(by_name, one) for one in comparisons]
    p = [sequential.estimate(own, looks).p for own in differences]
    known = [value if np.isfinite(value) else 1.0 for value in p]
    found = set()
    for one, own, holm in zip(comparisons, differences, np.asarray(statistics.holm(known)), strict=True):
        pair = [by_name[one.first], by_name[one.second]]
        ended = any(state.seeds < looks[look - 1] or not state.confirmed for state in pair)  # at an earlier look
        if not ended and holm >= sequential.LEVEL and sequential.is_open(own, looks, len(comparisons)):
            found |= {state.index for state in pair}
    return found


def _differences(states: dict[str, CellState], one: Named) -> list[float]:
    """In the order of the seeds that both cells finished."""
    first, second = (_scores(states[name], one.score) for name in (one.first, one.second))
    return [first[number] - second[number] for number in sorted(first) if number in second]


def _scores(state: CellState, score: str) -> dict[int, float]:
    found = {number: outcome for number, (_, outcome) in state.confirmed.items() if outcome.status == FINISHED}
    return {number: outcome.scores[score] for number, outcome in found.items() if score in outcome.scores}
