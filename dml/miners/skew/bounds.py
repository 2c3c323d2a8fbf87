"""The largest rate of uniform label noise at which a loss keeps the minimiser that it has without noise.

    unhinged triplet, 1-1 sampling     p < 1 - eps(K)
    triplet with hinge and mining      p < 1 - sqrt(1 - 1 / eta) - eps(K)
    marginal                           p < 1 - sqrt(1 - gamma) - eps(K)

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", equations 22 to 27 and 37. A loss
that weighs a positive pair by w+ and a negative pair by w- tolerates p if both kinds of pairs fulfil

    1 - q+ (1 + w- / w+) >= 0        1 - q- (1 + w+ / w-) >= 0

(equation 22; `pair_noise` has q+ and q-), with w+ = 1, and w- = 1 / K, or between 1 / (eta K) and eta / K, or gamma /
K. The paper does not specify eps(K); here the two quadratics are solved for K classes, and `classes=None` means
infinitely many.

Deviations: equation 26 prints q^2 instead of p^2 in `1 - (2p - p^2) eta >= 0`; the text before equation 37 requires Q
>= 0.5, but the formula follows from Q >= 0; q+ is the one found by counting.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dml.miners.skew.eta import Skew


class Interval(NamedTuple):
    """A bound on the noise rate, and its 95% interval."""

    bound: float
    low: float
    high: float


def unhinged(classes: int | None = None) -> float:
    """The largest p for the unhinged triplet loss with one negative for each positive pair."""
    return hinge(1.0, classes)


def hinge(eta: float, classes: int | None = None) -> float:
    """The largest p for the triplet loss with hinge and mining.

    Parameters
    ----------
    eta : how many times more often the most favoured negative pairs are drawn than under uniform drawing, at least 1.
    classes : K, at least 2; None: infinitely many.
    """
    if not eta >= 1:
        raise ValueError(f"eta: expected at least 1, got {eta!r}")
    return _largest(1 / eta, classes)


def interval(skew: Skew, classes: int | None = None) -> Interval:
    """The bound for the triplet loss with hinge and mining, from an estimate of eta (`dml.miners.skew.eta.estimate`).

    A larger eta tolerates less noise: the bound's lower end comes from the upper end of eta.
    """
    return Interval(hinge(skew.eta, classes), hinge(skew.high, classes), hinge(skew.low, classes))


def marginal(gamma: float, classes: int | None = None) -> float:
    """The largest p for the marginal loss.

    Parameters
    ----------
    gamma : the smallest weight of a negative pair over the largest weight of a positive pair, both relative to uniform
        drawing; 0 to 1.
    classes : K, at least 2; None: infinitely many.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma: expected 0 to 1, got {gamma!r}")
    return _largest(gamma, classes)


def _largest(least: float, classes: int | None) -> float:
    """The largest p that fulfils both conditions, for w+ = 1 and K w- of at least `least` <= 1."""
    if classes is None:
        return 1 - math.sqrt(1 - least)
    if classes < 2:
        raise ValueError(f"classes: expected at least 2, got {classes!r}")
    # Both conditions have the form `(K p / (K - 1) - 1)^2 >= 1 - c`. c is smaller for negative pairs, which decide.
    c = least * classes / (least + classes)
    return (classes - 1) / classes * (1 - math.sqrt(1 - c))
