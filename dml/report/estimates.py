"""A mean whose uncertainty has several independent sources, such as seeds, classes and searches.

Their variances add up, with the degrees of freedom of Satterthwaite (1946). A sum of two variances of which one is
estimated from three seeds has fewer than that formula says, so the interval is never narrower than that of a source by
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scipy import stats


class Estimate(NamedTuple):
    """A mean with its 95% interval, and the two-sided p of a mean of 0."""

    mean: float
    low: float
    high: float
    p: float


class Term(NamedTuple):
    """A part of the variance of a mean, and the degrees of freedom of its estimate."""

    variance: float
    freedom: float


def total(terms: Sequence[Term]) -> Term:
    """The sum of independent terms."""
    variance = sum(term.variance for term in terms)
    squares = sum(term.variance**2 / term.freedom for term in terms if term.variance > 0)
    return Term(variance, variance**2 / squares if squares > 0 else 1.0)


def estimate(mean: float, terms: Sequence[Term], searches: Sequence[Term] = ()) -> Estimate:
    """The interval of a mean, and its p.

    Parameters
    ----------
    terms : of which each bounds the width of the interval by itself.
    searches : further ones, that do not: two tuning trials would bound it by Student's t of one degree of freedom.
    """
    known = [term for term in (total([*terms, *searches]), *terms) if term.variance > 0]
    if not known:
        return Estimate(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    half = max(float(stats.t.ppf(0.975, own.freedom)) * own.variance**0.5 for own in known)
    p = max(float(2 * stats.t.sf(abs(mean) / own.variance**0.5, own.freedom)) for own in known)
    return Estimate(mean, mean - half, mean + half, p)
