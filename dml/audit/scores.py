"""The audit: from vectors and given labels to a score and a suggestion for every image.

An image x with the given label g is mislabelled with the odds e q(g | x) : (1 - e) P(g | x). P is the probability of
the class, and q(g | x) = sum_j P(j | x) T(j, g) that of g among the wrong labels that x would get. T(j, g) is the share
of g among the labels other than j of the images that look like class j. So a label that looks wrong *and* is a frequent
confusion of what the image looks like is more suspicious than an odd one. q is mixed with an even spread over the other
classes, as far as wrong labels are spread evenly (`Rate.evenness`), because T contains the classifier's own confusions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from dml.audit.inputs import Given, check, folds_of, learned, observed_labels
from dml.audit.neighbours import Vote, contradictions, vote, vote_by_fold
from dml.audit.probabilities import OutOfSample, Representation
from dml.audit.rate import Rate, first_guess
from dml.audit.result import Audit

EVEN_LEAST = 0.05  # of the wrong labels are taken to be spread evenly
PRIOR = 5.0  # wrong labels of each class that T has seen beforehand, spread evenly: small classes have few of their own
VOTE_WEIGHT = 0.3  # of the log of the neighbours' share


def suspicion(probabilities: OutOfSample, codes: np.ndarray, evenness: float, vote: Vote | None = None) -> np.ndarray:
    """The score of every image, float64 (n,): higher is more suspicious. NaN for images that are not judged."""
    out = np.full(len(codes), np.nan)
    judged = np.flatnonzero(codes >= 0)
    given, given_logs = codes[judged], probabilities.given_logs[judged].astype(np.float64)
    share = max(EVEN_LEAST, evenness)
    classes = int(codes.max()) + 1
    wrong = share / (classes - 1) + (1 - share) * _confusion(probabilities, judged, given, classes)
    out[judged] = np.log(wrong) - given_logs
    if vote is not None:
        out[judged] -= VOTE_WEIGHT * np.log((vote.agreeing[judged] + 0.5) / (vote.weight[judged] + 0.5))
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


KEPT_LEAST = 3  # images of a class that the second round always trains on


def audit(
    vectors: Any, labels: Any, *, folds: int = 5, neighbours: int = 30, duplicates: float = 0.999, seed: int = 0
) -> Audit:
    """Find the labels that are probably wrong, and guess how many are.

    1. For each representation, a softmax layer is fitted on the other folds and predicts each fold. The representation
       whose given labels are likeliest out of sample is used.
    2. The most suspicious labels, as many as the first guess of the rate says, are left out of a second fit.
    3. The score joins the odds that the label is wrong with the vote of the nearest images. Where vectors are learned,
       they are the nearest in the vectors of the image's fold; near-duplicates are those of another representation.

    The same arguments and seed give the same result for the same number of threads. Vectors of float32 are not copied.

    Parameters
    ----------
    vectors : floats (n, D), or a mapping from names of representations to such arrays. Lengths do not matter. In place
        of an array, a `Learner` learns vectors for each fold from the labels of the other folds, and for the second
        round again, without the suspects.
    labels : (n,), integers from 0 or strings: as given, right or wrong.
    folds : number of folds, at least 2.
    neighbours : voters for each image, at least 1.
    duplicates : cosine in (0, 1] from which two images are near-duplicates.

    Raises
    ------
    ValueError : a setting out of range; vectors or labels that cannot be audited (see `dml.audit.inputs`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = np.repeat([0, 1], 50)
    >>> given = right.copy()
    >>> given[7] = 1
    >>> result = audit(rng.normal(size=(100, 4)) * 0.2 + 3 * np.eye(2, 4)[right], given)
    >>> int(result.table().sort_values("score", ascending=False)["index"].iloc[0])
    7
    """
    for name, value, least in (("folds", folds, 2), ("neighbours", neighbours, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"audit: {name}: expected a whole number, at least {least}, got {value!r}")
    if not 0 < duplicates <= 1:
        raise ValueError(f"audit: duplicates: expected a cosine above 0, at most 1, got {duplicates!r}")
    data = check(vectors, labels)
    judged = data.classes.codes >= 0
    dealt = folds_of(data.classes.labels, folds, seed)

    losses: dict[str, float] = {}
    best: tuple[str, Representation, OutOfSample] | None = None
    for name in (*data.vectors, *data.learners):
        representation = _representation(data, name, dealt, judged)
        first = representation.round(judged)
        losses[name] = first.loss(judged)
        if best is None or losses[name] < losses[best[0]]:
            best = name, representation, first
    assert best is not None
    name, representation, first = best

    unsuspected = _unsuspected(first, data.classes.codes)
    if name in data.learners:  # what suspects taught its vectors is left out too
        representation = _representation(data, name, dealt, unsuspected)
    last = representation.round(unsuspected)
    rate = first_guess(first, last, data.classes.codes)

    settings = (data.classes.codes, np.exp(last.given_logs), neighbours, duplicates)
    if name in data.vectors:
        nearest = vote(data.vectors[name], *settings)
    else:
        fixed = min(data.vectors, key=lambda other: losses[other], default=None)
        space = None if fixed is None else data.vectors[fixed]
        nearest = vote_by_fold(representation.vectors, dealt, space, *settings)
    score = suspicion(last, data.classes.codes, rate.evenness, nearest)
    return Audit(
        labels=data.classes.labels,
        suggested=np.where(judged, data.classes.names[last.top[:, 0]], data.classes.labels),
        score=score,
        wrong=chance(score, rate.guess),
        own=np.where(judged, np.exp(last.given_logs.astype(np.float64)), np.nan),
        vote=np.where(judged, nearest.agreeing / np.maximum(nearest.weight, 1e-12), np.nan),
        rate=rate,
        representation=name,
        losses=losses,
        duplicates=contradictions(nearest, data.classes.labels),
        beyond=data.classes.beyond,
        settings={"folds": int(dealt.max()) + 1, "neighbours": neighbours, "duplicates": duplicates, "seed": seed},
        digest=data.digest,
    )


def kept(score: np.ndarray, codes: np.ndarray, rate: float) -> np.ndarray:
    """Which images train the second round, bool (n,): all but the `rate` most suspicious, and 3 of every class."""
    judged = np.flatnonzero(codes >= 0)
    order = judged[np.argsort(score[judged], kind="stable")]
    out = np.zeros(len(codes), dtype=bool)
    out[order[: len(order) - round(rate * len(order))]] = True
    rank = pd.Series(codes[order]).groupby(codes[order]).cumcount().to_numpy()
    out[order[rank < KEPT_LEAST]] = True
    return out


def _unsuspected(first: OutOfSample, codes: np.ndarray) -> np.ndarray:
    rate = first_guess(first, first, codes)
    return kept(suspicion(first, codes, rate.evenness), codes, rate.guess)


def _representation(data: Given, name: str, dealt: np.ndarray, kept: np.ndarray) -> Representation:
    if name in data.vectors:
        return Representation(data.vectors[name], data.classes.codes, dealt)
    vectors = learned(name, data.learners[name], observed_labels(data.classes.codes, dealt, kept))
    return Representation(vectors, data.classes.codes, dealt, calibrated=True)


def guess(vectors: Any, labels: Any, *, folds: int = 5, seed: int = 0) -> Rate:
    """The guess that `audit` would make from these vectors (n, D) and labels (n,), as given. Raises as `audit` does."""
    data = check(vectors, labels)
    judged, dealt = data.classes.codes >= 0, folds_of(data.classes.labels, folds, seed)
    representation = Representation(next(iter(data.vectors.values())), data.classes.codes, dealt)
    first = representation.round(judged)
    return first_guess(first, representation.round(_unsuspected(first, data.classes.codes)), data.classes.codes)
