"""Whether two published means differ, from their standard deviations (Welch's t-test)."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy import stats


class Difference(NamedTuple):
    """A difference of means with its 95% interval, and the two-sided p."""

    effect: float
    low: float
    high: float
    p: float


def welch(first: tuple[float, float], second: tuple[float, float], seeds: int) -> Difference:
    """The second mean minus the first.

    Parameters
    ----------
    first, second : mean and sample standard deviation, in one unit; not both deviations 0.
    seeds : observations behind each of both, at least 2.
    """
    if seeds < 2:
        raise ValueError(f"seeds: expected at least 2, got {seeds!r}")
    variances = [deviation**2 / seeds for _, deviation in (first, second)]
    error = math.sqrt(sum(variances))
    if error == 0:
        raise ValueError("expected a standard deviation above 0, got 0 twice")
    freedom = error**4 / sum(variance**2 / (seeds - 1) for variance in variances)
    effect = second[0] - first[0]
    reach = error * float(stats.t.ppf(0.975, freedom))
    return Difference(effect, effect - reach, effect + reach, 2 * float(stats.t.sf(abs(effect) / error, freedom)))
