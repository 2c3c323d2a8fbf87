"""Up to which rate of uniform label noise a loss has the minimiser that it has without noise.

    unhinged triplet, 1-1 sampling     p < 1 - eps(K)
    triplet with hinge and mining      p < 1 - sqrt(1 - 1 / eta) - eps(K)
    marginal                           p < 1 - sqrt(1 - gamma) - eps(K)

Le, Odobez: Theoretical guarantees of deep embedding losses under label noise, eq. 22 to 27 and 37. A loss that weighs a
positive pair by w+ and a negative one by w- tolerates p where for both kinds of pairs

    1 - q+ (1 + w- / w+) >= 0        1 - q- (1 + w+ / w-) >= 0

(eq. 22; `pair_noise` has q+ and q-), with w+ = 1 and w- = 1 / K, between 1 / (eta K) and eta / K, and gamma / K. The
paper leaves eps(K) open; here the two quadratics are solved for K classes, and `classes=None` stands for infinitely
many.

Deviations: eq. 26 prints q^2 where it must be p^2, `1 - (2p - p^2) eta >= 0`; before eq. 37 the text asks Q >= 0.5,
but the formula is that of Q >= 0; q+ is the counted one.
"""

from __future__ import annotations

import math


def unhinged(classes: int | None = None) -> float:
    """The largest p for the unhinged triplet loss with one negative for each positive pair."""
    return hinge(1.0, classes)


def hinge(eta: float, classes: int | None = None) -> float:
    """The largest p for the triplet loss with hinge and mining.

    Parameters
    ----------
    eta : how many times as often the most favoured negative pairs are drawn as under uniform drawing, at least 1.
    classes : K, at least 2; None: infinitely many.
    """
    if not eta >= 1:
        raise ValueError(f"eta: expected at least 1, got {eta!r}")
    return _largest(1 / eta, classes)


def marginal(gamma: float, classes: int | None = None) -> float:
    """The largest p for the marginal loss.

    Parameters
    ----------
    gamma : the least weight of a negative pair, relative to uniform drawing, over the largest of a positive pair; 0 to
        1.
    classes : K, at least 2; None: infinitely many.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma: expected 0 to 1, got {gamma!r}")
    return _largest(gamma, classes)


def _largest(least: float, classes: int | None) -> float:
    """The largest p with both conditions met, for K w- of at least `least` <= 1 where w+ = 1."""
    if classes is None:
        return 1 - math.sqrt(1 - least)
    if classes < 2:
        raise ValueError(f"classes: expected at least 2, got {classes!r}")
    # Both conditions read `(K p / (K - 1) - 1)^2 >= 1 - c`; c is the smaller, and so decides, for negative pairs.
    c = least * classes / (least + classes)
    return (classes - 1) / classes * (1 - math.sqrt(1 - c))
