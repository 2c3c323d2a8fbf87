"""How many labels are wrong: a first guess from out-of-sample probabilities alone.

`sure` : the rate among images that the classifier can be sure of. An image's largest probability m = max softmax(b
    logits) is the chance that the prediction is right, and the given label agrees with it with the chance (1 - sure) m;
    b and sure are fitted. Too low if hard images are mislabelled more.
`joint` : the confident joint's rate (Northcutt et al., "Confident learning", JAIR 2021). Too high: the representation's
    errors count as noise.
`spread` : the rate e of the mixture (1 - e) softmax(b logits) + e (1 - softmax(b logits)) / (K - 1), which is the noise
    rate if wrong labels are spread evenly: then `sure` is the guess, otherwise it is between `sure` and `joint`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp, ndtr

from dml.audit.probabilities import OutOfSample

ENOUGH = 100_000  # images for the likelihood of `sure`
WEAK = 0.6  # a warning is due if `apart` is below,
UNCLEAR = 0.05  # or if `all_right` is above this,
HARDLY = 0.15  # or if `explained` is below this,
SMALL = 0.05  # a guess that can hardly be too high
CLEAR = 0.9  # unless `apart` is above this: then the guess is small
SIMPLEX = {"method": "Nelder-Mead", "options": {"xatol": 1e-3, "fatol": 1e-7, "maxiter": 120}}
SCALES = (-4.0, 4.0)  # logarithms of b
BETWEEN = 0.4  # the guess's place between `sure` and `joint` if wrong labels go to similar classes (docs/LOG.md)


@dataclass(frozen=True)
class Rate:
    """A first guess of the noise rate and what it was made of. No interval: `review_plan` gives one."""

    guess: float
    sure: float
    joint: float
    spread: float
    evenness: float  # 0: wrong labels go to similar classes; 1: evenly to all
    apart: float = 1.0  # share of the images whose class the classifier can tell
    all_right: float = 0.0  # p-value of "all labels are right", the likelihood-ratio test of `sure` = 0
    explained: float = 1.0  # share of log K by which the probabilities beat guessing

    @property
    def assumption(self) -> str:
        """What the guess assumes, in a sentence."""
        return (
            f"The guess {self.guess:.3f} assumes that the rate is between that of the labels that the classifier can "
            f"be sure of ({self.sure:.3f}, the rate if hard ones are wrong as often as easy ones) and the "
            f"confident joint's {self.joint:.3f}; wrong labels look {self.evenness:.0%} evenly spread over classes."
        )

    @property
    def warning(self) -> str:
        """Why the guess can be far off; empty if nothing speaks against it."""
        weak = f"the representation tells classes apart in only {self.apart:.0%} of the cases"
        if self.all_right > UNCLEAR and self.apart < CLEAR:
            which = "off" if self.guess < SMALL else "too high"
            return f"{weak}, and would disagree as often if all labels were right: the guess can be far {which}"
        if self.apart < WEAK:
            return f"{weak}, and its own errors look like wrong labels: the guess can be far off"
        if self.explained < HARDLY:
            return f"the representation says little about the labels ({self.explained:.0%}): the guess can be far off"
        return ""


class Sure(NamedTuple):
    """The rate among images that the classifier can be sure of, and how far it can be trusted (see the module)."""

    rate: float
    apart: float
    all_right: float


def first_guess(first: OutOfSample, last: OutOfSample, codes: np.ndarray) -> Rate:
    """The guess from the first round's probabilities (trained on all labels) and the last round's."""
    surest, apart, all_right = sure(first, codes)
    joint, spread = confident_joint(last, codes), even_spread(first, codes)
    evenness = min(1.0, spread / surest) if surest > 0 else 1.0
    weight = BETWEEN * min(1.0, 2 * (1 - evenness))
    guess = surest + weight * max(0.0, joint - surest)
    return Rate(guess, surest, joint, spread, evenness, apart, all_right, explained(first, codes))


def sure(probabilities: OutOfSample, codes: np.ndarray) -> Sure:
    """The rate of wrong labels among images that the classifier can be sure of (see the module)."""
    judged = np.flatnonzero(codes >= 0)
    rows = judged[:: max(1, len(judged) // ENOUGH)]
    logs = probabilities.values[rows].astype(np.float64)
    agreed = probabilities.top[rows, 0] == codes[rows]
    others = max(int(codes.max()) + 1 - logs.shape[1], 1)  # classes whose probabilities are not kept, taken as equal
    left = np.log(np.maximum(1 - np.exp(logs).sum(axis=1), 1e-30) / others)
    below, rest = logs - logs[:, :1], left - logs[:, 0]

    def largest(scale: float) -> np.ndarray:
        with np.errstate(over="ignore"):  # at a large scale, where classes are not kept that are likelier
            return 1 / (np.exp(scale * below).sum(axis=1) + others * np.exp(scale * rest))

    def loss(scale: float, rate: float) -> float:
        chance = np.clip((1 - rate) * largest(scale), 1e-9, 1 - 1e-9)
        return -float(np.log(np.where(agreed, chance, 1 - chance)).mean())

    def of_point(point: np.ndarray) -> float:
        return loss(np.exp(np.clip(point[0], *SCALES)), expit(point[1]))

    starts = itertools.product((0.4, 3.0), (-1.5, 0.0))  # from one alone, a third of wrong labels was taken for none
    best = min((minimize(of_point, start, **SIMPLEX) for start in starts), key=lambda result: result.fun)
    none_wrong = minimize_scalar(lambda point: loss(np.exp(point), 0.0), bounds=SCALES, method="bounded")
    ratio = 2 * len(rows) * max(0.0, none_wrong.fun - best.fun)
    all_right = float(ndtr(-np.sqrt(ratio)))  # the rate cannot be negative: half of chi-squared's
    scale = np.exp(none_wrong.x if all_right > UNCLEAR else np.clip(best.x[0], *SCALES))
    return Sure(float(expit(best.x[1])), float(largest(scale).mean()), all_right)


def confident_joint(probabilities: OutOfSample, codes: np.ndarray) -> float:
    """The noise rate of the confident joint, each given class weighted by its size.

    Deviation: only the 16 likeliest classes of an image are considered.
    """
    judged = np.flatnonzero(codes >= 0)
    given, confidence = codes[judged], np.exp(probabilities.given_logs[judged].astype(np.float64))
    sizes = np.bincount(given)
    threshold = np.bincount(given, weights=confidence) / np.maximum(sizes, 1)
    top = probabilities.top[judged]
    above = np.exp(probabilities.values[judged].astype(np.float64)) >= threshold[top] - 1e-9
    counted = above.any(axis=1)
    likeliest = np.take_along_axis(top, above.argmax(axis=1)[:, None], axis=1)[:, 0]
    wrong = np.bincount(given, weights=counted & (likeliest != given), minlength=len(sizes))
    total = np.bincount(given, weights=counted, minlength=len(sizes))
    return float((sizes * wrong / np.maximum(total, 1)).sum() / sizes.sum())


def explained(probabilities: OutOfSample, codes: np.ndarray) -> float:
    """The share of log K by which out-of-sample probabilities, at their best scale, beat guessing."""
    logs, given = probabilities.logs.astype(np.float64), codes[probabilities.sample]

    def loss(point: float) -> float:
        scaled = np.exp(point) * logs
        return float((logsumexp(scaled, axis=1) - scaled[np.arange(len(given)), given]).mean())

    best = minimize_scalar(loss, bounds=(-6.0, 4.0), method="bounded")
    return float(1 - best.fun / np.log(logs.shape[1]))


def even_spread(probabilities: OutOfSample, codes: np.ndarray) -> float:
    """The rate e of the mixture with evenly spread wrong labels (see the module)."""
    logs = probabilities.logs.astype(np.float64)
    given = codes[probabilities.sample]
    others = logs.shape[1] - 1

    def loss(point: np.ndarray) -> float:
        scaled = np.exp(point[0]) * logs
        likelihood = np.exp(scaled[np.arange(len(given)), given] - logsumexp(scaled, axis=1))
        rate = expit(point[1])
        return -float(np.log(np.maximum((1 - rate) * likelihood + rate * (1 - likelihood) / others, 1e-30)).mean())

    results = [minimize(loss, [0.3, start], **SIMPLEX) for start in (-2.0, -0.5)]
    return float(expit(min(results, key=lambda result: result.fun).x[1]))
