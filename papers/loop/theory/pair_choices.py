"""How often each choice of LoOp's points (p1, p2) gives a step that meets the supplement's criteria (section 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.loop.theory import cases as arc_cases
from papers.loop.theory import pair_steps
from papers.loop.theory.pair_steps import ZERO, Form, Rates
from papers.loop.theory.random_arcs import Arcs

RULES = ("closest of the nine", "closest points of the arcs", "middle and middle", "x1 and y1", "farthest of the nine")
APART = 1e-3  # pairs of arcs that are nearer are left out: where arcs cross, the distance has no slope


class Row(NamedTuple):
    """Shares of the pairs of arcs, to first order in the size of the step."""

    rule: str
    together: float  # x1 and x2 approach each other
    kept: float  # y1 and y2 are not driven apart
    apart: float  # the arcs separate
    good: float  # all three
    better: float  # one of the nine meets all three, and this choice fails or separates the arcs more slowly


def compare(arcs: Arcs, form: Form = "plain") -> list[Row]:
    """Each rule's shares."""
    distance = arc_cases.least(arc_cases.box_of(arcs)).distance
    arcs = Arcs(*(end[distance > APART] for end in arcs))
    n = len(arcs.x1)
    points = [pair_steps.choice(case, n) for case in range(9)]
    nine = Rates(*(np.stack(rate) for rate in zip(*(pair_steps.rates(arcs, p, form) for p in points), strict=True)))
    distances, rows = np.stack([pair_steps.distance(arcs, p) for p in points]), np.arange(n)

    def of(chosen: np.ndarray) -> Rates:
        return Rates(*(rate[chosen, rows] for rate in nine))

    loop = pair_steps.rates(arcs, pair_steps.closest(arcs), form)
    chosen = [of(distances.argmin(0)), loop, of(np.full(n, 0)), of(np.full(n, 5)), of(distances.argmax(0))]
    fastest = np.where(nine.good, nine.apart, -np.inf).max(0)
    outcomes = []
    for rule, rate in zip(RULES, chosen, strict=True):
        better = np.isfinite(fastest) & (~rate.good | (fastest > rate.apart + ZERO))
        together, kept, apart = rate.together < 0, rate.kept <= ZERO, rate.apart > 0
        outcomes.append(Row(rule, *_shares(together, kept, apart, rate.good, better)))
    return outcomes


def _shares(*columns: np.ndarray) -> list[float]:
    return [float(column.mean()) for column in columns]
