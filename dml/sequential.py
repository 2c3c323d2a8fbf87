"""Tests and intervals of a mean that is looked at several times while seeds are added: group-sequential.

The looks are planned: after 3, 5, 8, 13 and 20 seeds, say. At each, the paired t-test gives a p. Its statistic is the
least of p * (most / n)^EXPONENT over the looks so far, which spends less of the error on early looks than Pocock (1977)
and more than O'Brien and Fleming (1979). Its distribution without an effect, over all planned looks, is simulated with
normal differences. So the adjusted p and the interval hold whenever the seeds stop, for whatever reason, and Holm's
correction applies to the adjusted p of several comparisons.

Jennison and Turnbull: Group Sequential Methods, 2000, chapter 9 (repeated confidence intervals).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from dml import statistics
from dml.seeding import numpy_generator

GROWTH = 1.6  # of the number of seeds from look to look
EXPONENT = 0.5  # of the share of seeds, in the level of a look
DRAWS = 200_000
HOPE = 0.2  # chance of a decision with all seeds below which no more are added
LEVEL = 0.05


class Sequential(NamedTuple):
    """A mean at the last look, with its repeated 95% interval and the p adjusted for all planned looks."""

    mean: float
    low: float
    high: float
    p: float
    look: int  # from 1 on; 0: fewer values than the first look


def looks(least: int, most: int) -> tuple[int, ...]:
    """After how many seeds comparisons are looked at: `looks(3, 20)` is (3, 5, 8, 13, 20)."""
    found = [least]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, math.ceil(GROWTH * found[-1]))))
    return tuple(found)


def estimate(differences: Sequence[float] | np.ndarray, planned: tuple[int, ...]) -> Sequential:
    """Of differences in the order of the seeds.

    Parameters
    ----------
    differences : (n,). Looks are at the planned numbers of them that there are, and at the end.
    planned : all looks, as `looks` returns them.
    """
    x = np.asarray(differences, dtype=np.float64)
    made = [n for n in planned if n <= len(x)]
    if not made:
        return Sequential(float(x.mean()) if len(x) else math.nan, math.nan, math.nan, math.nan, 0)
    x = x[: made[-1]]
    same = [
        n for n in made if n == made[-1] or x[:n].mean() * x.mean() > 0
    ]  # a look that found the reverse is none for it
    least = min(statistics.paired_t(x[:n]) * (planned[-1] / n) ** EXPONENT for n in same)
    level = levels(planned)[len(made) - 1]
    spread = statistics.summary(x, 1 - level)
    return Sequential(spread.mean, spread.low, spread.high, _adjusted(least, planned), len(made))


@cache
def levels(planned: tuple[int, ...], level: float = LEVEL) -> list[float]:
    """The level of the t-test at each look, whose errors together are `level`."""
    critical = float(np.quantile(_null(planned), level))
    return [critical * (n / planned[-1]) ** EXPONENT for n in planned]


def is_open(differences: Sequence[float] | np.ndarray, planned: tuple[int, ...], tests: int = 1) -> bool:
    """Whether more seeds may still decide a comparison that is not decided.

    They may if the last look would find a difference half a standard error larger than the present one with a chance
    of 20% or more. Stopping for want of hope cannot make a false finding.

    Parameters
    ----------
    tests : comparisons, for Bonferroni's correction.
    """
    x = np.asarray(differences, dtype=np.float64)
    if len(x) < 2:
        return True
    spread = float(x.std(ddof=1))
    if not spread > 0:
        return False
    likely = abs(float(x.mean())) + 0.5 * spread / len(x) ** 0.5
    return statistics.power(likely, spread, planned[-1], levels(planned, LEVEL / max(1, tests))[-1]) >= HOPE


def _adjusted(least: float, planned: tuple[int, ...]) -> float:
    """The chance of so small a statistic without an effect; beyond the simulation, Bonferroni's bound over looks."""
    if math.isnan(least):
        return math.nan
    null = _null(planned)
    simulated = (1 + int(np.searchsorted(null, least, side="right"))) / (1 + len(null))
    bound = sum(least * (n / planned[-1]) ** EXPONENT for n in planned)
    return min(1.0, simulated, bound) if least * DRAWS < 20 else min(1.0, simulated)


@cache
def _null(planned: tuple[int, ...]) -> np.ndarray:
    """The sorted statistics of draws without an effect."""
    normal = numpy_generator(0, "group-sequential t-tests")
    sums, squares, found, before = np.zeros(DRAWS), np.zeros(DRAWS), np.full(DRAWS, np.inf), 0
    for n in planned:
        more = normal.standard_normal((n - before, DRAWS))
        sums, squares, before = sums + more.sum(0), squares + (more**2).sum(0), n
        mean = sums / n
        t = np.abs(mean) / np.sqrt((squares - n * mean**2) / (n - 1) / n)
        found = np.minimum(found, 2 * special.stdtr(n - 1, -t) * (planned[-1] / n) ** EXPONENT)
    return np.sort(found)
