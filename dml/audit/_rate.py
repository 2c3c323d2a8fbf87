"""How many labels are wrong: a first guess from out-of-sample probabilities alone.

Three numbers are measured:

`sure` : the share of given labels that differ from the predicted class among the images that the classifier is surest
    of. There it makes few errors of its own. It is the noise rate if labels are wrong independently of how hard an
    image is, and too low if hard images are mislabelled more often, as by people.
`joint` : the confident joint's rate (Northcutt et al., "Confident learning", JAIR 2021). It is too high, because it
    takes the representation's own errors for noise.
`spread` : the rate e of the mixture (1 - e) softmax(b logits) + e (1 - softmax(b logits)) / (K - 1), with the scale b
    and e of the highest out-of-sample likelihood. It is the noise rate if wrong labels are spread evenly over the other
    classes, and near 0 if they go to similar classes.

`spread / sure` therefore tells how evenly wrong labels are spread. Evenly spread noise does not depend on how hard an
image is, and `sure` is the guess. Otherwise the guess is half-way between `sure` and `joint`, because nothing but a
person can tell a hard image from a wrong label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from dml.audit._probabilities import OutOfSample

SUREST = 0.05  # share of the images,
SUREST_LEAST = 200  # but at least so many, and at most half
BETWEEN = 0.5  # the guess's place between `sure` and `joint` if wrong labels go to similar classes


@dataclass(frozen=True)
class Rate:
    """A first guess of the noise rate and what it was made of. No interval: `review_plan` gives one."""

    guess: float
    sure: float
    joint: float
    spread: float
    evenness: float  # 0: wrong labels go to similar classes; 1: evenly to all

    @property
    def assumption(self) -> str:
        """What the guess assumes, in a sentence."""
        return (
            f"The guess {self.guess:.3f} assumes that the classifier is right about the images that it is surest of "
            f"(rate {self.sure:.3f} there), and that the rate of the others is between that and the confident joint's "
            f"{self.joint:.3f}; wrong labels look {self.evenness:.0%} evenly spread over classes."
        )


def first_guess(first: OutOfSample, last: OutOfSample, codes: np.ndarray) -> Rate:
    """The guess from the first round's probabilities (trained on all labels) and the last round's.

    Parameters
    ----------
    codes : int64 (n,), the given classes; -1: not judged.
    """
    surest, joint, spread = sure(first, codes), confident_joint(last, codes), even_spread(first, codes)
    evenness = min(1.0, spread / surest) if surest > 0 else 1.0
    weight = BETWEEN * min(1.0, 2 * (1 - evenness))
    return Rate(surest + weight * max(0.0, joint - surest), surest, joint, spread, evenness)


def sure(probabilities: OutOfSample, codes: np.ndarray) -> float:
    """The share of labels that differ from the predicted class, among the most confident predictions."""
    judged = np.flatnonzero(codes >= 0)
    count = min(max(round(SUREST * len(judged)), SUREST_LEAST), max(1, len(judged) // 2))
    rows = judged[np.argsort(-probabilities.values[judged, 0], kind="stable")[:count]]
    return float((probabilities.top[rows, 0] != codes[rows]).mean())


def confident_joint(probabilities: OutOfSample, codes: np.ndarray) -> float:
    """The noise rate of the confident joint, each given class weighted by its size.

    An image is an example of the likeliest class whose probability is at least that class's mean self-confidence.
    Deviation: only the 16 likeliest classes of an image are considered.
    """
    judged = np.flatnonzero(codes >= 0)
    given, own = codes[judged], np.exp(probabilities.own[judged].astype(np.float64))
    sizes = np.bincount(given)
    threshold = np.bincount(given, weights=own) / np.maximum(sizes, 1)
    top = probabilities.top[judged]
    above = np.exp(probabilities.values[judged].astype(np.float64)) >= threshold[top] - 1e-9
    counted = above.any(axis=1)
    found = np.take_along_axis(top, above.argmax(axis=1)[:, None], axis=1)[:, 0]
    wrong = np.bincount(given, weights=counted & (found != given), minlength=len(sizes))
    total = np.bincount(given, weights=counted, minlength=len(sizes))
    return float((sizes * wrong / np.maximum(total, 1)).sum() / sizes.sum())


def even_spread(probabilities: OutOfSample, codes: np.ndarray) -> float:
    """The rate e of the mixture with evenly spread wrong labels (see the module)."""
    logs = probabilities.logs.astype(np.float64)
    given = codes[probabilities.sample]
    others = logs.shape[1] - 1

    def loss(point: np.ndarray) -> float:
        scaled = np.exp(point[0]) * logs
        own = np.exp(scaled[np.arange(len(given)), given] - logsumexp(scaled, axis=1))
        rate = expit(point[1])
        return -float(np.log(np.maximum((1 - rate) * own + rate * (1 - own) / others, 1e-30)).mean())

    tried = [
        minimize(loss, [0.3, start], method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-7, "maxiter": 120})
        for start in (-2.0, -0.5)
    ]
    return float(expit(min(tried, key=lambda result: result.fun).x[1]))
