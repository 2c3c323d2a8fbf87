"""The verdicts on proposition 1 and the unhinged marginal loss."""

from __future__ import annotations

from functools import cache

import numpy as np

from dml.report.sections import TheoryVerdict
from papers.noise.theory import skew, unhinged

CLASSES = (2, 3, 10, 100, 1000, 11318)  # the last: those of Stanford Online Products
TRIED, SAMPLES = 5, 3  # classes and samples in each, for the descents
RATES = (0.0, 0.2, 0.4, 0.45, 0.5, 0.6, 0.7, 0.9)
DRAWS, ALPHA = 200, 0.2
NEAR = 1e-6


@cache
def best_found(p: float, balanced: bool) -> unhinged.Found:
    """The minimum of the noisy risk for `TRIED` classes."""
    return unhinged.minimum(p, TRIED, SAMPLES, balanced, starts=2)


def _simplex(p: float, balanced: bool) -> bool:
    """The descents end at the simplex, and no lower."""
    found = best_found(p, balanced)
    corner = np.sqrt(2 * TRIED / (TRIED - 1))
    same = abs(found.risk - unhinged.simplex_risk(p, TRIED, SAMPLES, balanced)) < NEAR
    return bool(same and found.within < NEAR and abs(found.between - corner) < NEAR)


@cache
def proposition_1() -> TheoryVerdict:
    """Confirmed if descents end at the simplex below the bound, elsewhere above, and eps(K) falls to 0.01."""
    eps = {k: 1 - skew.unhinged(k) for k in CLASSES}
    bound = skew.unhinged(TRIED)
    below = all(_simplex(p, balanced=False) for p in RATES if p < bound)
    above = [p for p in RATES if p > bound and best_found(p, balanced=False).between < NEAR]
    balanced = all(_simplex(p, balanced=True) for p in RATES)
    falls = all(a > b for a, b in zip(list(eps.values())[:-1], list(eps.values())[1:], strict=True))
    finding = (
        f"With the paper's weight 1/K for negative pairs, eps(K) is {eps[10]:.2f} for 10 classes, {eps[100]:.2f} for "
        f"100 and {eps[11318]:.4f} for 11 318, about {eps[11318] * np.sqrt(11318):.2f}/sqrt(K): not small for few "
        f"classes. Descents with {TRIED} classes end at the simplex for the rates below the bound {bound:.3f}, and at "
        f"one point for p = {_texts(above)} above it."
    )
    if balanced:
        finding += (
            " With the weight 1/(K - 1), with which large classes are drawn, both multipliers are (1 - p K/(K - "
            "1))^2, and the descents end at the simplex for every rate: only p = 1 - 1/K makes a difference, and the "
            "condition on the two sums is not needed."
        )
    holds = below and len(above) > 0 and falls and eps[11318] < 0.01
    return TheoryVerdict("noise-proposition-1", "confirmed" if holds else "undecided", finding)


@cache
def marginal() -> TheoryVerdict:
    """Confirmed if the losses differ by a constant, and the triplet loss tolerates what is claimed."""
    generator = np.random.default_rng(0)
    constants, slopes = [], []
    for _ in range(DRAWS):
        points = generator.normal(size=(3, 4))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        step = 1e-6 * generator.normal(size=points.shape)

        def gap(at: np.ndarray) -> float:
            return unhinged.marginal(at, ALPHA, lambda _: 1.4) - unhinged.triplet(at, ALPHA)

        constants.append(gap(points))
        slopes.append((gap(points + step) - gap(points - step)) / (2 * float(np.linalg.norm(step))))
    spread, slope = float(np.ptp(constants)), float(np.abs(slopes).max())
    finding = (
        f"Over {DRAWS} random triplets the sum of the two marginal losses minus the triplet loss is "
        f"{np.mean(constants):.3f} (dmax + alpha = {unhinged.DIAMETER + ALPHA:g}), with a spread of {spread:.0e} and "
        f"slopes up to {slope:.0e}. A beta of the shared anchor cancels, so its value does not matter, also if it is "
        "learned per class; a beta of the pair's other end changes the constant, not the slopes of the embedding."
    )
    holds = spread < 1e-12 and slope < NEAR and proposition_1().verdict == "confirmed"
    return TheoryVerdict("noise-unhinged-marginal", "confirmed" if holds else "undecided", finding)


def _texts(values: object) -> str:
    return ", ".join(f"{value:g}" for value in values)  # type: ignore[attr-defined]
