"""LoOp's formulas for the nine cases as the paper prints them: signs of the interior case, and multipliers.

Section 3.2 prints `A +- root` for alpha with `B -+ root` for beta: the upper sign with the lower. `tangents` of
`arc_cases` has the roots; here they are paired either way. Section 3.2 also discards every candidate whose multipliers
have the wrong sign (table 1), so that it may happen that no case is left.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from papers.loop.theory.cases import Box, least, tangents, turned

Pairing = Literal["printed", "equal"]
SIGNS = ("+", "-")


class Critical(NamedTuple):
    """The length of the gradient of f over that of (a, b, c, d), at the four pairs of roots."""

    residual: dict[tuple[str, str], np.ndarray]  # signs of alpha and beta -> (n,); 0 at a critical point
    supplement: np.ndarray  # (n,), the smallest of the four with the A that the supplement prints in one line


class Printed(NamedTuple):
    """What the formulas give for random arcs, as shares of them."""

    none: float  # no case is valid
    wrong: float  # a case is valid, but the distance is off by more than 1e-6
    largest: float  # the largest error of a distance


def box_of_coefficients(rng: np.random.Generator, n: int) -> Box:
    """Standard normal a, b, c, d, with the largest box."""
    full = np.full(n, np.pi)
    a, b, c, d = rng.standard_normal((4, n))
    return Box(a, b, c, d, full, full)


def critical(box: Box) -> Critical:
    """Which pairs of roots are critical points of f."""
    alphas, betas = tangents(box)
    scale = np.sqrt(sum(x**2 for x in box[:4]))
    residual = {
        (SIGNS[i], SIGNS[j]): np.hypot(*box.gradient(np.arctan(alphas[i]), np.arctan(betas[j]))) / scale
        for i in (0, 1)
        for j in (0, 1)
    }
    a, b, c, d = box[:4]
    linear, product = a**2 - b**2 - c**2 + d**2, a * b + c * d
    root = np.sqrt(linear**2 + 4 * product**2)
    other = [np.arctan((linear + sign * root) / (2 * product)) for sign in (1, -1)]
    lengths = [np.hypot(*box.gradient(alpha, np.arctan(beta))) / scale for alpha in other for beta in betas]
    return Critical(residual, np.min(lengths, axis=0))


def compare(box: Box, pairing: Pairing) -> Printed:
    """The formulas against the least distance."""
    exact, printed = least(box).distance, distance(box, pairing)
    none = np.isinf(printed)
    error = np.abs(np.where(none, exact, printed) - exact)
    return Printed(float(none.mean()), float((error > 1e-6).mean()), float(error.max()))


def distance(box: Box, pairing: Pairing) -> np.ndarray:
    """The least distance over the valid cases (n,), infinite if none is valid."""
    best = np.full_like(box.a, np.inf)
    for alpha, beta, valid in _valid(box, pairing):
        value = np.sqrt(np.maximum(2 + 2 * box.value(alpha, beta), 0))
        best = np.minimum(best, np.where(valid, value, np.inf))
    return best


def _valid(box: Box, pairing: Pairing) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(alpha, beta, whether it is within the box and its multipliers have the right sign) of each case."""
    a, b, c, d, alpha0, beta0 = box
    zero = np.zeros_like(a)
    alphas, betas = tangents(box)
    solutions = []
    for k in (0, 1):
        alpha, beta = turned(alphas[k], 1.0), turned(betas[k if pairing == "equal" else 1 - k], 1.0)
        solutions.append((alpha, beta, (alpha <= alpha0) & (beta <= beta0)))
    for alpha, sign in ((zero, 1), (alpha0, -1)):
        beta = turned(a * np.sin(alpha) + b * np.cos(alpha), c * np.sin(alpha) + d * np.cos(alpha))
        solutions.append((alpha, beta, (beta <= beta0) & (sign * box.gradient(alpha, beta)[0] >= 0)))
    for beta, sign in ((zero, 1), (beta0, -1)):
        alpha = turned(a * np.sin(beta) + c * np.cos(beta), b * np.sin(beta) + d * np.cos(beta))
        solutions.append((alpha, beta, (alpha <= alpha0) & (sign * box.gradient(alpha, beta)[1] >= 0)))
    for alpha, first in ((zero, 1), (alpha0, -1)):
        for beta, second in ((zero, 1), (beta0, -1)):
            by_alpha, by_beta = box.gradient(alpha, beta)
            solutions.append((alpha, beta, (first * by_alpha >= 0) & (second * by_beta >= 0)))
    return solutions
