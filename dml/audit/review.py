"""The noise rate for sure: which images a person should look at, and what follows from the answers.

Strata of images hold equal sums of sqrt(p (1 - p)), p the chance of a wrong label (Dalenius & Hodges, "Minimum variance
stratification", JASA 1959). Half of the looks are shared equally among them, half by size: large strata of labels that
look right may hide wrong ones. Within a stratum every image has the same chance of a look, so the Horvitz-Thompson
estimate is unbiased however wrong the scores are. The first looks are one in each stratum: the share of a stratum
without a look may be anything from 0 to 1, so a review that stops early has a wide interval, but one that covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dml import files, seeding
from dml.audit.result import Audit

ANSWERS = ("right", "wrong", "unsure")
PLANNED = ("rows", "stratum", "sizes", "expected", "given", "suggested")  # what a saved plan lists
PER_STRATUM = 10  # looks, about
FLOOR = 0.01  # chances nearer to 0 or 1 are not believed: wrong labels with low scores must have a chance of a look
BY_SIZE = 0.5  # of the looks
PRIOR = 2.5  # looks that a stratum's presumed share counts as in its variance: none wrong of 10 is not a variance of 0


@dataclass(frozen=True, eq=False)
class ReviewPlan:
    """The images to look at, one of each stratum first, else in random order: a review may stop early."""

    rows: np.ndarray  # int64 (n,): images
    stratum: np.ndarray  # int64 (n,): of each
    sizes: np.ndarray  # int64 (H,): images in each stratum,
    expected: np.ndarray  # float64 (H,): and the share of wrong labels that the scores predict there
    given: np.ndarray  # (n,): their given labels
    suggested: np.ndarray  # (n,)
    digest: str  # of the audited vectors and labels

    def table(self) -> pd.DataFrame:
        """A row for each look: index, given, suggested, stratum, weight (images that it stands for)."""
        looks = np.bincount(self.stratum, minlength=len(self.sizes))
        columns = {"index": self.rows, "given": self.given, "suggested": self.suggested, "stratum": self.stratum}
        return pd.DataFrame({**columns, "weight": (self.sizes / np.maximum(looks, 1))[self.stratum]})

    def save(self, folder: str | Path) -> None:
        """Write `plan.json` into a folder; `load` reads it."""
        lists = {name: getattr(self, name).tolist() for name in PLANNED}
        files.write_json(Path(folder) / "plan.json", {**lists, "digest": self.digest})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The plan that `save` wrote into a folder. Raises ValueError if there is none, or a broken one."""
        path = Path(folder) / "plan.json"
        content = files.read_json(path)
        try:
            lists = {name: np.array(content[name]) for name in PLANNED}
            if len({len(lists[name]) for name in ("rows", "stratum", "given", "suggested")}) > 1:
                raise ValueError("its lists differ in length")
            return cls(**lists, digest=str(content["digest"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: expected the plan of a review, got none or a broken one ({error!r})") from error


@dataclass(frozen=True)
class Estimate:
    """The noise rate of the judged images, after a review."""

    rate: float  # Horvitz-Thompson
    low: float  # the interval,
    high: float
    level: float  # which covers the rate in this share of reviews
    looks: int  # answers right or wrong
    unsure: int  # not used: taken to be wrong as often as the others of their stratum


def review_plan(audit: Audit, n: int = 200, seed: int = 0) -> ReviewPlan:
    """Draw n images for a person to look at, 2 or more of the judged ones, more where the scores are uncertain."""
    judged = np.flatnonzero(np.isfinite(audit.score))
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 2 <= n <= len(judged):
        raise ValueError(f"review_plan: n: expected a whole number from 2 to {len(judged)} (judged images), got {n!r}")
    draw = seeding.numpy_generator(seed, "audit/review")
    order = judged[np.argsort(audit.score[judged], kind="stable")]
    stratum = _strata(audit.wrong[order], max(1, round(n / PER_STRATUM)))
    sizes = np.bincount(stratum)
    believed = np.clip(audit.wrong[order], FLOOR, 1 - FLOOR)
    expected = np.bincount(stratum, weights=believed) / sizes
    looks = _looks(sizes, n)
    drawn = [draw.permutation(np.flatnonzero(stratum == number))[:count] for number, count in enumerate(looks)]
    first, later = zip(*((rows[:1], rows[1:]) for rows in drawn), strict=True)
    places = np.concatenate([draw.permutation(np.concatenate(part)) for part in (first, later)])
    rows = order[places]
    return ReviewPlan(rows, stratum[places], sizes, expected, audit.labels[rows], audit.suggested[rows], audit.digest)


def estimate(plan: ReviewPlan, answers: Any, level: float = 0.95) -> Estimate:
    """The noise rate from the answers, with an interval.

    The interval is Wilson's for as many simple random looks as would have the estimate's stratified variance (as for
    surveys: Korn & Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 1998). That variance presumes in each stratum, as `PRIOR` further
    looks, the share that the scores predict, or the estimated rate if that is higher, but above one half the share that
    is nearer to it: scores may be blind. Strata without an answer widen the interval by their size.

    Parameters
    ----------
    answers : image -> "right", "wrong" or "unsure": a mapping, pairs, or a DataFrame with the columns index and answer
        (and optionally given, which is compared with the plan). Images without an answer were not looked at.
    level : of the interval, between 0 and 1.

    Raises
    ------
    ValueError : an answer other than those three, an image that is not in the plan, a given label that differs from the
        plan's, contradictory answers for one image (they are listed), or no answer right or wrong.
    """
    if not 0 < level < 1:
        raise ValueError(f"estimate: level: expected a number between 0 and 1, got {level!r}")
    answer_of = _answers(plan, answers)
    stratum_of = dict(zip(plan.rows.tolist(), plan.stratum.tolist(), strict=True))
    count = len(plan.sizes)
    right, wrong = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for row, answer in answer_of.items():
        if answer != "unsure":
            (wrong if answer == "wrong" else right)[stratum_of[row]] += 1
    looks, unsure = right + wrong, sum(answer == "unsure" for answer in answer_of.values())
    if looks.sum() == 0:
        raise ValueError("estimate: no image was found right or wrong, so nothing can be said about the rate")
    answered = looks > 0
    # The estimate takes a stratum without an answer to be like all others together; the interval does not.
    share = wrong / np.maximum(looks, 1)
    rate = float((plan.sizes * share)[answered].sum() / plan.sizes[answered].sum())
    seen = float(plan.sizes[answered].sum() / plan.sizes.sum())
    low, high = _interval(rate, plan.sizes[answered], plan.expected[answered], wrong[answered], looks[answered], level)
    low, high = low * seen, high * seen + 1 - seen
    return Estimate(rate, low, high, level, int(looks.sum()), int(unsure))


def _interval(
    rate: float, sizes: np.ndarray, expected: np.ndarray, wrong: np.ndarray, looks: np.ndarray, level: float
) -> tuple[float, float]:
    """Wilson's interval at the number of simple random looks that would have the estimate's variance."""
    if (looks == sizes).all():
        return rate, rate
    presumed = np.maximum(expected, rate) if rate <= 0.5 else np.clip(expected, 0.5, rate)
    part = (wrong + PRIOR * np.minimum(presumed, 1 - FLOOR)) / (looks + PRIOR)
    unseen = 1 - looks / sizes
    weight = sizes / sizes.sum()
    variance = float((weight**2 * part * (1 - part) * unseen / np.maximum(looks - 1, 1)).sum())
    middle = min(max(rate, float((weight * part).sum()) * 0.5), 1 - float((weight * (1 - part)).sum()) * 0.5)
    effective = middle * (1 - middle) / variance
    z = float(ndtri((1 + level) / 2))
    centre = (rate + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z * np.sqrt(rate * (1 - rate) / effective + z * z / (4 * effective**2)) / (1 + z * z / effective)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _strata(chance: np.ndarray, count: int) -> np.ndarray:
    """The stratum of each image, int64 (n,), by equal sums of sqrt(p (1 - p)). `chance` is ascending."""
    believed = np.clip(chance, FLOOR, 1 - FLOOR)
    reach = np.cumsum(np.sqrt(believed * (1 - believed)))
    return np.unique(np.minimum((reach / reach[-1] * count).astype(np.int64), count - 1), return_inverse=True)[1]


def _looks(sizes: np.ndarray, n: int) -> np.ndarray:
    """Looks for each stratum, int64 (H,), n in all: `BY_SIZE` of them by size, the others as equal as sizes allow."""
    looks = np.floor(BY_SIZE * n * (sizes / sizes.sum())).astype(np.int64)
    left = n - int(looks.sum())
    while left > 0:
        open_ = np.flatnonzero(looks < sizes)
        more = np.minimum(max(1, left // len(open_)), sizes[open_] - looks[open_])
        more = np.where(np.cumsum(more) <= left, more, 0)
        looks[open_] += more
        left -= int(more.sum())
    return looks


def _answers(plan: ReviewPlan, answers: Any) -> dict[int, str]:
    planned = dict(zip(plan.rows.tolist(), plan.given.tolist(), strict=True))
    out: dict[int, str] = {}
    contradictory: list[int] = []
    for row, answer, given in _triples(answers):
        if answer not in ANSWERS:
            raise ValueError(f"estimate: image {row}: expected one of {', '.join(ANSWERS)}, got {answer!r}")
        if row not in planned:
            raise ValueError(f"estimate: image {row} is not in the review plan: is it a review of another audit?")
        if given is not None and str(given) != str(planned[row]):
            raise ValueError(
                f"estimate: image {row}: its given label is {planned[row]!r} in the plan, but {given!r} in the review: "
                "is it a review of another dataset, or an edited one?"
            )
        if out.setdefault(row, answer) != answer:
            contradictory.append(row)
    if contradictory:
        shown = ", ".join(map(str, sorted(set(contradictory))))
        raise ValueError(f"estimate: contradictory answers for the images {shown}: decide on one and remove the others")
    return out


def _triples(answers: Any) -> Iterable[tuple[int, str, Any]]:
    if not isinstance(answers, pd.DataFrame):
        pairs = answers.items() if isinstance(answers, Mapping) else answers
        return [(int(row), answer, None) for row, answer in pairs]
    if not {"index", "answer"} <= set(answers.columns):
        raise ValueError(f"estimate: expected the columns index and answer, got {', '.join(map(str, answers.columns))}")
    given = answers["given"] if "given" in answers.columns else [None] * len(answers)
    return [(int(row), *pair) for row, *pair in zip(answers["index"], answers["answer"], given, strict=True)]
