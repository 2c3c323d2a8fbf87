"""Pair noise: the probability that a pair is of the wrong kind, for uniform label noise of rate p over K classes.

    q- = 2 p (1 - p) / (K - 1) + p^2 (K - 2) / (K - 1)^2     a negative pair becomes positive
    q+ = 2 p (1 - p) + p^2 (1 - 1 / (K - 1))                 a positive pair becomes negative

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 3.3. Deviation: the paper
prints `1 - 2 / (K - 1)` in q+. Two flipped samples of one class have the same K - 1 possible labels, so they agree
again with probability 1 / (K - 1), and the factor is `1 - 1 / (K - 1)`. `printed=True` gives the paper's value.
"""

from __future__ import annotations


def negative_to_positive(p: float, classes: int) -> float:
    """q-, for 0 <= p <= 1 and K >= 2 classes."""
    _check(p, classes)
    others = classes - 1
    return 2 * p * (1 - p) / others + p**2 * (classes - 2) / others**2


def positive_to_negative(p: float, classes: int, printed: bool = False) -> float:
    """q+, for 0 <= p <= 1 and K >= 2 classes; `printed`: as the paper prints it."""
    _check(p, classes)
    agree = (2 if printed else 1) / (classes - 1)
    return 2 * p * (1 - p) + p**2 * (1 - agree)


def _check(p: float, classes: int) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"p: expected 0 <= p <= 1, got {p!r}")
    if classes < 2:
        raise ValueError(f"classes: expected at least 2, got {classes!r}")
