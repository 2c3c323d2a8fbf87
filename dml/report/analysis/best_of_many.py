"""p-values of comparisons with the winner, adjusted for its choice by the same scores.

The best of several equal methods always leads, so its paired t-tests find too much: with 27 equal methods and 8 seeds,
Holm's correction over the 26 comparisons calls some method worse in a fifth of all studies, not in 5%.

The adjusted p of a rival is the chance that the best of as many equal methods would lead any other by at least as large
a paired t. It is simulated with independent normal scores and a fixed seed; what a seed does to all methods alike
cancels in the differences. Step-down: a rival is compared only with the methods that have no larger t. This is the
closed test (Marcus, Peritz and Gabriel, Biometrika 1976) of all sets of equal methods that contain the winner.

Limits: scores are taken as normal, with equal variances. In simulations, unequal ones (standard deviations from 0.01
to 30) gave as many false findings or fewer, down to 0.5% of the studies. Strongly skewed scores were not simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy import special

from dml.seeding import numpy_generator

NUMBERS = 10_000_000  # of one simulation
DRAWS = 20_000  # studies in one simulation, at most
MANY = 30  # pairs, such as queries: with more, the adjustment of a p hardly changes
ROUNDING = 1e-6  # of simulated t, which are kept in single precision


def adjusted(p: Sequence[float], pairs: Sequence[int]) -> np.ndarray:
    """The adjusted p (R,) of the winner's comparison with each of R other methods, at least as large as p.

    Parameters
    ----------
    p : (R,), two-sided, by the paired t-test; NaN without a test. Such a method counts among those that could win.
    pairs : (R,), the seeds or queries that the winner shares with each.
    """
    found, least, methods = np.full(len(p), np.nan), 0.0, len(p) + 1
    for rank, i in enumerate(np.lexsort((pairs, p))):  # NaN is last
        if np.isnan(p[i]):
            break
        least = max(least, _chance(p[i], min(pairs[i], MANY), methods - rank, methods))
        found[i] = least
    return found


def _chance(p: float, n: int, left: int, methods: int) -> float:
    """That the best of `left` equal methods has a comparison with this p or a lower one.

    At most p times the number of pairs, which is exact for two methods and finer than the simulation for small p.
    """
    leads = _leads(methods, n)[left - 1]
    as_large = np.count_nonzero(leads >= -special.stdtrit(n - 1, p / 2) * (1 - ROUNDING))
    return min(1.0, max(p, min((1 + as_large) / (1 + leads.size), p * left * (left - 1) / 2)))


@cache
def _leads(methods: int, n: int) -> np.ndarray:
    """In row m, the highest paired t of the best of m + 1 equal methods against the others, (methods, draws)."""
    draws = min(DRAWS, NUMBERS // (methods * n))
    normal = numpy_generator(0, "leads of the best of equal methods")
    scores = np.empty((methods, draws, n))
    found = np.zeros((methods, draws), np.float32)
    for m in range(methods):
        scores[m] = normal.standard_normal((draws, n))
        if m == 0:
            best, highest = scores[0].copy(), np.zeros(draws)
            continue
        t = _paired_t(best - scores[m])
        highest = np.maximum(highest, t)
        first = np.flatnonzero(t < 0)  # where this method is the new best
        best[first] = scores[m, first]
        highest[first] = _paired_t(best[first] - scores[:m, first]).max(axis=0)
        found[m] = highest
    return found


def _paired_t(differences: np.ndarray) -> np.ndarray:
    """Of the last dimension; `std` takes three times as long."""
    n, mean = differences.shape[-1], differences.mean(axis=-1)
    squares = np.einsum("...i,...i", differences, differences)
    return mean / np.sqrt((squares - n * mean**2) / (n * (n - 1)))
