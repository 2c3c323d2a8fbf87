"""Whether a learning curve still rises when training ends: the one rule of all pages, marks and claims.

- **Where**: over the last fifth of the steps, by the least-squares line through the scores there. Between evaluations
  that are farther apart the curve is a straight line.
- **How much**: by more than 2% of the score at the end, so a score of 10 and one of 90 are judged alike. A score that
  grows as the logarithm of the steps and passes this would gain more than 6% of itself from twice the steps, which is
  about as much as the methods of a study differ by.
- **Surely**: by more than twice the standard error that the curve's own noise gives that line. The noise is how far
  the curve falls between evaluations in the second half of its steps: one that only rises has none, bent or straight.
  Of flat curves of 11 evaluations or more with noise of 1 to 5% of their score, 1 to 8% are said to rise.

A curve with less than two evaluations in the second half of its steps tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FIFTH, HALF = 0.2, 0.5  # of the steps
SHARE = 0.02  # of the score at the end
SURE = 2.0  # standard errors

Curve = Sequence[tuple[float, float]]  # (step, score as a share of 1), steps ascending


def still_rises(curve: Curve) -> bool | None:
    """Whether a curve rises when training ends; None if its evaluations are too few to tell."""
    steps, scores = np.array(curve, dtype=float).reshape(-1, 2).T
    if not len(steps) or steps[-1] <= 0:
        return None
    at = steps / steps[-1]
    late = at >= HALF
    if late.sum() < 2 or at[0] > 1 - FIFTH:
        return None
    last = at > 1 - FIFTH
    x = np.append(1 - FIFTH, at[last])
    y = np.append(np.interp(1 - FIFTH, at, scores), scores[last])
    centred = x - x.mean()
    squares = centred @ centred
    rise = FIFTH * (centred @ y) / squares
    error = FIFTH * _noise(scores[late]) / squares**0.5
    return bool(rise > max(SHARE * scores[-1], SURE * error))


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean of several trials' curves, by the share of the steps of each.

    It begins where all of them have begun.
    """
    each = [np.array(curve, dtype=float).T for curve in curves if len(curve) > 1 and curve[-1][0] > 0]
    shares = [steps / steps[-1] for steps, _ in each]
    if not each:
        return []
    start = max(own[0] for own in shares)
    grid = np.unique(np.concatenate(shares).round(9))
    grid = grid[grid >= round(float(start), 9)]
    means = np.mean([np.interp(grid, own, scores) for own, (_, scores) in zip(shares, each, strict=True)], axis=0)
    return list(zip(grid.tolist(), means.tolist(), strict=True))


def continued(curve: Curve, whole: Curve) -> Curve:
    """A curve that ends early, and after that the course of another trial, which took all steps.

    The other's scores are scaled to the curve's where it ends.
    """
    if not curve or not whole:
        return curve
    end, score = curve[-1]
    steps, scores = zip(*whole, strict=True)
    there = float(np.interp(end, steps, scores))
    scale = score / there if there > 0 else 1.0
    return [*curve, *((step, scale * later) for step, later in whole if step > end)]


def _noise(scores: np.ndarray) -> float:
    """The root mean square of the falls between successive scores: the standard deviation of noise on a flat curve."""
    return float(np.mean(np.minimum(np.diff(scores), 0.0) ** 2) ** 0.5)
