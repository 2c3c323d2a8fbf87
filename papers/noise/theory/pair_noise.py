"""Pair noise: the probability that a pair is of the wrong kind, for uniform label noise of rate p over K classes.

    q- = 2 p (1 - p) / (K - 1) + p^2 (K - 2) / (K - 1)^2     a negative pair becomes positive
    q+ = 2 p (1 - p) + p^2 (1 - 1 / (K - 1))                 a positive pair becomes negative

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 3.3. Deviation: the paper
prints `1 - 2 / (K - 1)` in q+. Two flipped samples of one class have the same K - 1 possible labels, so they agree
again with probability 1 / (K - 1), and the factor is `1 - 1 / (K - 1)`. `printed=True` gives the paper's value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Simulated(NamedTuple):
    """Shares of pairs that are of the wrong kind, and their standard errors."""

    minus: float  # of negative pairs
    minus_error: float
    plus: float  # of positive pairs
    plus_error: float


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


def simulate(p: float, classes: int, draws: int = 100_000, seed: int = 0) -> Simulated:
    """q- and q+ from random labels: `draws` negative pairs (classes 0 and 1) and as many positive ones (class 0)."""
    _check(p, classes)
    generator = np.random.default_rng(seed)
    true = np.repeat([[0, 1], [0, 0]], draws, axis=0)
    flipped = generator.random(true.shape) < p
    observed = (true + flipped * generator.integers(1, classes, true.shape)) % classes
    agree = (observed[:, 0] == observed[:, 1]).reshape(2, draws).mean(axis=1)
    minus, plus = float(agree[0]), float(1 - agree[1])
    return Simulated(minus, _error(minus, draws), plus, _error(plus, draws))


def _error(share: float, draws: int) -> float:
    return float(np.sqrt(max(share * (1 - share), 1 / draws) / draws))


def _check(p: float, classes: int) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"p: expected 0 <= p <= 1, got {p!r}")
    if classes < 2:
        raise ValueError(f"classes: expected at least 2, got {classes!r}")
