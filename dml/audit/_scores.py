"""How suspicious each label is: the odds that it is wrong, from probabilities, confusions and neighbours.

An image x with the given label g is mislabelled with the odds e q(g | x) : (1 - e) P(g | x). P is the probability of
the class, and q(g | x) = sum_j P(j | x) T(j, g) that of g among the wrong labels that x would get. T(j, g) is the share
of g among the labels other than j of the images that look like class j. So a label that looks wrong *and* is a frequent
confusion of what the image looks like is more suspicious than an odd one. q is mixed with an even spread over the other
classes, as far as wrong labels are spread evenly (`Rate.evenness`), because T contains the classifier's own confusions.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from dml.audit._neighbours import Vote
from dml.audit._probabilities import OutOfSample

EVEN_LEAST = 0.05  # of the wrong labels are taken to be spread evenly
PRIOR = 5.0  # wrong labels of each class that T has seen beforehand, spread evenly: small classes have few of their own
VOTE_WEIGHT = 0.3  # of the log of the neighbours' share


def suspicion(probabilities: OutOfSample, codes: np.ndarray, evenness: float, vote: Vote | None = None) -> np.ndarray:
    """The score of every image, float64 (n,): higher is more suspicious. NaN for images that are not judged.

    Parameters
    ----------
    evenness : 0 to 1, from `Rate`.
    vote : the neighbours' weighted vote joins the score; None: probabilities only.
    """
    out = np.full(len(codes), np.nan)
    judged = np.flatnonzero(codes >= 0)
    given, own = codes[judged], probabilities.own[judged].astype(np.float64)
    share = max(EVEN_LEAST, evenness)
    classes = int(codes.max()) + 1
    wrong = share / (classes - 1) + (1 - share) * _confusion(probabilities, judged, given, classes)
    out[judged] = np.log(wrong) - own
    if vote is not None:
        out[judged] -= VOTE_WEIGHT * np.log((vote.own[judged] + 0.5) / (vote.weight[judged] + 0.5))
    return out


def chance(score: np.ndarray, rate: float) -> np.ndarray:
    """The chance that each label is wrong, float64 (n,), with the mean `rate`. NaN where the score is."""
    judged = np.isfinite(score)
    rate = min(max(rate, 1e-6), 1 - 1e-6)
    bound = float(np.abs(score[judged]).max()) + 20.0
    shift = brentq(lambda value: float(expit(score[judged] + value).mean()) - rate, -bound, bound)
    return np.where(judged, expit(score + shift), np.nan)


def _confusion(probabilities: OutOfSample, judged: np.ndarray, given: np.ndarray, classes: int) -> np.ndarray:
    """q(given | x) of the judged images, float64 (m,), each image left out of its own T."""
    top = probabilities.top[judged].astype(np.int64)
    weights = np.exp(probabilities.values[judged].astype(np.float64))
    off = top != given[:, None]
    weights = np.where(off, weights, 0.0)
    pairs, place = np.unique(top * classes + given[:, None], return_inverse=True)
    place = place.reshape(top.shape)
    counts = np.bincount(place.ravel(), weights=weights.ravel(), minlength=len(pairs))
    totals = np.bincount(top.ravel(), weights=weights.ravel(), minlength=classes)
    seen, others = np.maximum(counts[place] - weights, 0.0), np.maximum(totals[top] - weights, 0.0)
    share = (seen + PRIOR / (classes - 1)) / (others + PRIOR)
    return (weights * np.minimum(share, 1.0)).sum(axis=1)
