"""How many labels are wrong: a first guess from out-of-sample probabilities alone.

Four numbers are measured:

`sure` : the rate of wrong labels among images that the classifier can be sure of. Its own errors are modelled: with
    the scale b of the logits, an image's largest probability m = max softmax(b logits) is the chance that the
    prediction is right, and the given label agrees with the prediction with the chance (1 - sure) m. Both b and `sure`
    have the highest out-of-sample likelihood. It is the noise rate if labels are wrong independently of how hard an
    image is, wherever wrong labels go, and too low if hard images are mislabelled more often, as by people.
`rise` : whether hard images are mislabelled more often, as far as that shows: by what share the rate over all images
    exceeds `sure` if the rate may change with 1 - m, linearly and with the highest likelihood.
`joint` : the confident joint's rate (Northcutt et al., "Confident learning", JAIR 2021). It is too high, because it
    takes the representation's own errors for noise.
`spread` : the rate e of the mixture (1 - e) softmax(b logits) + e (1 - softmax(b logits)) / (K - 1), with the scale b
    and e of the highest out-of-sample likelihood. It is the noise rate if wrong labels are spread evenly over the other
    classes, and near 0 if they go to similar classes.

`spread / sure` tells how evenly wrong labels are spread, and evenly spread noise does not depend on how hard an image
is. So the guess is `sure` if noise looks even or does not rise, and half-way between `sure` and `joint` if `rise` is
0.4 or more: among images that the classifier cannot tell apart, nothing but a person can tell a hard image from a
wrong label, so the rise that shows is only a part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from dml.audit._probabilities import OutOfSample

ENOUGH = 100_000  # images for its likelihood
RISEN = 0.4  # the rise from which hard images are taken to be mislabelled more often, in full
BETWEEN = 0.5  # the guess's place between `sure` and `joint` then


@dataclass(frozen=True)
class Rate:
    """A first guess of the noise rate and what it was made of. No interval: `review_plan` gives one."""

    guess: float
    sure: float
    joint: float
    spread: float
    evenness: float  # 0: wrong labels go to similar classes; 1: evenly to all
    rise: float = 0.0  # 0: hard images look mislabelled as often as easy ones; 1: the mean rate is twice `sure`

    @property
    def assumption(self) -> str:
        """What the guess assumes, in a sentence."""
        if self.guess == self.sure:
            return (
                f"The guess {self.guess:.3f} assumes that hard images are mislabelled as often as those that the "
                f"classifier is sure of, because no rise shows; if they are mislabelled more often, the rate is higher "
                f"(the confident joint's is {self.joint:.3f})."
            )
        return (
            f"The guess {self.guess:.3f} assumes that hard images are mislabelled more often, and that the rate is "
            f"between that of the images that the classifier is sure of ({self.sure:.3f}) and the confident joint's "
            f"({self.joint:.3f}); the rise that shows is {self.rise:.0%}, and wrong labels look {self.evenness:.0%} "
            "evenly spread over classes."
        )


def first_guess(first: OutOfSample, last: OutOfSample, codes: np.ndarray) -> Rate:
    """The guess from the first round's probabilities (trained on all labels) and the last round's.

    Parameters
    ----------
    codes : int64 (n,), the given classes; -1: not judged.
    """
    surest, rise = sure(first, codes)
    joint, spread = confident_joint(last, codes), even_spread(first, codes)
    evenness = min(1.0, spread / surest) if surest > 0 else 1.0
    weight = BETWEEN * min(1.0, max(0.0, rise) / RISEN) * min(1.0, 2 * (1 - evenness))
    return Rate(surest + weight * max(0.0, joint - surest), surest, joint, spread, evenness, rise)


def sure(probabilities: OutOfSample, codes: np.ndarray) -> tuple[float, float]:
    """The rate of wrong labels among images that the classifier can be sure of, and its rise (see the module)."""
    judged = np.flatnonzero(codes >= 0)
    rows = judged[:: max(1, len(judged) // ENOUGH)]
    logs = probabilities.values[rows].astype(np.float64)
    agreed = probabilities.top[rows, 0] == codes[rows]
    others = max(int(codes.max()) + 1 - logs.shape[1], 1)  # classes whose probabilities are not kept, taken as equal
    left = np.log(np.maximum(1 - np.exp(logs).sum(axis=1), 1e-30) / others)
    below, rest = logs - logs[:, :1], left - logs[:, 0]

    def chances(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scale = np.exp(point[0])
        unsure = 1 - 1 / (np.exp(scale * below).sum(axis=1) + others * np.exp(scale * rest))
        return expit(point[1]) + (point[2] if len(point) > 2 else 0.0) * unsure, unsure

    def loss(point: np.ndarray) -> float:
        rate, unsure = chances(point)
        chance = np.clip((1 - np.clip(rate, 0, 1)) * (1 - unsure), 1e-9, 1 - 1e-9)
        return -float(np.log(np.where(agreed, chance, 1 - chance)).mean())

    settings = {"xatol": 1e-3, "fatol": 1e-7, "maxiter": 120}
    flat = minimize(loss, [0.4, -1.5], method="Nelder-Mead", options=settings).x
    slope = minimize(loss, [*flat, 0.1], method="Nelder-Mead", options=settings).x
    rate = float(expit(flat[1]))
    return rate, float(np.clip(chances(slope)[0], 0, 1).mean()) / max(rate, 1e-9) - 1


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
