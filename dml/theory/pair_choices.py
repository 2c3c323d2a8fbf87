"""How often each choice of LoOp's points (p1, p2) gives a step that meets the supplement's criteria (section 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dml.theory import pair_steps
from dml.theory.random_arcs import Arcs
from dml.theory.pair_steps import Form, Outcome

RULES = ("closest of the nine", "closest points of the arcs", "middle and middle", "x1 and y1", "farthest of the nine")


class Row(NamedTuple):
    """Shares of the pairs of arcs."""

    rule: str
    together: float  # x1 and x2 are nearer
    kept: float  # y1 and y2 are not farther
    apart: float  # the arcs are farther
    good: float  # all three
    other: float  # not all three, but one of the nine meets them
    widest: float  # no choice of the nine leaves the arcs farther apart


def compare(arcs: Arcs, form: Form = "plain", size: float = 0.05) -> list[Row]:
    """Each rule's shares, after one step of `size` and the return to the sphere."""
    n = len(arcs.x1)
    points = [pair_steps.choice(case, n) for case in range(9)]
    results = [pair_steps.outcome(arcs, pair_steps.step(arcs, p, form, size)) for p in points]
    nine = Outcome(*(np.stack(column) for column in zip(*results, strict=True)))
    distances = np.stack([pair_steps.distance(arcs, p) for p in points])
    loop = pair_steps.outcome(arcs, pair_steps.step(arcs, pair_steps.closest(arcs), form, size))
    rows = np.arange(n)

    def of(chosen: np.ndarray) -> Outcome:
        return Outcome(*(column[chosen, rows] for column in nine))

    found = [of(distances.argmin(0)), loop, of(np.full(n, 0)), of(np.full(n, 5)), of(distances.argmax(0))]
    some, widest = nine.good.any(0), nine.separation.max(0)
    return [
        Row(
            rule,
            *(float(column.mean()) for column in (o.together, o.kept, o.apart, o.good)),
            float((~o.good & some).mean()),
            float((o.separation >= widest - 1e-12).mean()),
        )
        for rule, o in zip(RULES, found, strict=True)
    ]
