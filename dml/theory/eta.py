"""The skew of negative sampling, from the tuples that training really draws.

    eta = max over bins of distance of (share of the drawn negatives) / (share of all negative pairs)

Le, Odobez: Theoretical guarantees of deep embedding losses under label noise, sec. 4.2 (eta) and 5.3 (gamma = the
least such ratio of the negatives over the largest of the positives). The paper says that eta cannot be computed; here
it is estimated, with the counts of each bin, so that a bin with hardly a pair in it does not decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

EDGES = np.linspace(0.0, 2.0, 41)  # distances of unit vectors; bins of 0.05


class Skew(NamedTuple):
    """Ratios of drawn to uniform density over bins."""

    eta: float  # the largest ratio
    low: float  # of its 95% interval
    high: float
    bin: int  # where it is
    ratio: np.ndarray  # float (bins,); nan where too few pairs tell
    drawn: np.ndarray  # float (bins,): counts


def histograms(
    embeddings: np.ndarray, labels: np.ndarray, anchors: np.ndarray, negatives: np.ndarray, edges: np.ndarray = EDGES
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of negative distances, as drawn and as under uniform drawing for the same anchors.

    Parameters
    ----------
    embeddings : float (N, D), L2-normalised.
    labels : int (N,), as observed.
    anchors, negatives : int (T,), of the drawn tuples; rows with -1 (padding) are skipped.
    edges : float (bins + 1,); what lies beyond the ends counts in the end bins.

    Returns
    -------
    drawn, uniform : int64 (bins,); for uniform, each tuple's anchor counts with all its negatives.
    """
    embeddings, labels = np.asarray(embeddings, dtype=np.float64), np.asarray(labels)
    valid = np.asarray(anchors) >= 0
    anchors, negatives = np.asarray(anchors)[valid], np.asarray(negatives)[valid]
    gram = np.clip(embeddings @ embeddings.T, -1.0, 1.0)
    bins = np.clip(np.digitize(np.sqrt(2 - 2 * gram), edges) - 1, 0, len(edges) - 2)
    drawn = np.bincount(bins[anchors, negatives], minlength=len(edges) - 1)
    times = np.bincount(anchors, minlength=len(labels))
    weights = times[:, None] * (labels[:, None] != labels[None, :])
    uniform = np.bincount(bins.ravel(), weights=weights.ravel(), minlength=len(edges) - 1)
    return drawn.astype(np.int64), uniform.astype(np.int64)


def estimate(drawn: np.ndarray, uniform: np.ndarray, least: float = 10.0) -> Skew:
    """Eta from two histograms over the same bins, summed over as many batches as one likes.

    Parameters
    ----------
    drawn, uniform : counts (bins,).
    least : a bin counts if uniform drawing would put at least so many of the drawn pairs, and at least so many of its
        own, in it.

    Returns
    -------
    Skew : its interval takes the counts of that bin as Poisson.

    Raises
    ------
    ValueError : no bin has enough pairs.
    """
    drawn, uniform = (np.asarray(counts, dtype=np.float64) for counts in (drawn, uniform))
    if drawn.shape != uniform.shape or drawn.ndim != 1:
        raise ValueError(f"eta: expected two histograms (bins,), got {drawn.shape} and {uniform.shape}")
    expected = drawn.sum() * uniform / max(uniform.sum(), 1.0)
    enough = (expected >= least) & (uniform >= least)
    if not enough.any():
        raise ValueError(f"eta: no bin has {least:g} pairs, of {drawn.sum():g} drawn")
    ratio = np.where(enough, drawn / np.where(enough, expected, 1.0), np.nan)
    at = int(np.nanargmax(ratio))
    spread = np.exp(1.96 * np.sqrt(1 / drawn[at] + 1 / uniform[at]))
    return Skew(float(ratio[at]), float(ratio[at] / spread), float(ratio[at] * spread), at, ratio, drawn)


def gamma(negative: Skew, positive: Skew, least: float = 10.0) -> float:
    """The marginal bound's eta- / eta+, at most 1: the least of the negatives over the largest of the positives.

    The hinge drops easy negatives, whose ratio is 0: only bins with at least `least` drawn negatives count.
    """
    counting = (negative.drawn >= least) & np.isfinite(negative.ratio)
    return min(1.0, float(negative.ratio[counting].min()) / positive.eta)
