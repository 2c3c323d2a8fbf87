"""Which labels a recommendation is for: as given, at a noise level of the study, or at a share of wrong ones.

A share is of all labels. Labels as given may be wrong themselves: then the study's rate 0 is their share, and its rate
`r`, which it made wrong on purpose, is the higher share that is wrong in all. So nothing is added to what is wrong
already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from dml.config.for_use import as_given, has_own_labels, makes_noise
from dml.report.analysis.at_rate import SAME, measured, shares
from dml.report.analysis.selection import noise_of
from dml.report.labels import level_label
from dml.report.numbers import rate as rate_text
from dml.report.results import Results
from dml.types import NoiseLevel


class AskedLabels(NamedTuple):
    """The labels that are asked for, in terms of the study's noise levels."""

    noise: str
    counting: Mapping[float, float]  # how much each of the study's rates counts, the nearest first
    totals: Mapping[float, float]  # the share of all labels that is wrong, at each of the study's rates
    rate: float | None  # that is asked for; None: nobody knows it
    text: str  # `with labels as given`, `at 10% wrong labels`


def asked_labels(
    results: Results, dataset: str, noise: str | None, rate: float | None, wrong: float | None, key: str
) -> AskedLabels:
    """The labels that a user asks for.

    Parameters
    ----------
    noise : a noise of the study, or a level of it (`uniform-0.2`); None: that of labels as given.
    rate : the share of wrong labels; None: of the level. Of a user's own labels it is that of the labels as given,
        unless an audit says another one.
    wrong : the share of the labels as given that an audit says is wrong; None: there is no audit.
    key : of the score that decides.

    Raises
    ------
    ValueError : as `noise_of`, or no trial finished there.
    """
    noise, level = noise_of(results, dataset, noise, rate)
    rates, base = measured(results, dataset, noise, key), _share_as_given(results, dataset, noise, rate, wrong)
    if level is not None and level not in rates:
        raise ValueError(
            f"study {results.study.name!r}: no trial at {NoiseLevel(noise, level)} has finished. Choices of --noise: "
            f"{', '.join(str(NoiseLevel(noise, own)) for own in rates) or 'none'}"
        )
    roles = results.summary.get("data", {}).get(dataset, {}).get("roles", {})
    classes = roles.get("train", {}).get("classes")
    totals = {own: composed(base or 0.0, own, classes) if makes_noise(noise) else own for own in rates}
    if level is not None:
        counting = {level: 1.0}
        of_given = base is None and (not level or has_own_labels(results.study, dataset))
        rate = None if (of_given if makes_noise(noise) else not level) else totals[level]
    else:
        assert rate is not None, "a noise without a level is asked for with a rate"
        by_total = {total: own for own, total in totals.items()}
        counting = {by_total[total]: share for total, share in shares(list(by_total), rate).items()}
    return AskedLabels(noise, counting, totals, rate, _text(results, dataset, noise, counting, totals, rate))


def composed(given: float, made: float, classes: int | None = None) -> float:
    """The share of wrong labels after a share `made` of labels became another class; before, a share `given` was wrong.

    Parameters
    ----------
    classes : K; a wrong label becomes the right one of the K - 1 others by chance. None: very many.
    """
    right_again = given * made / (classes - 1) if classes is not None and classes > 1 else 0.0
    return given + made - given * made - right_again


def _share_as_given(
    results: Results, dataset: str, noise: str, rate: float | None, wrong: float | None
) -> float | None:
    """The share of wrong labels among those that a noise starts from; None: nobody knows it."""
    if any(section.by_given for section in results.study.noise):
        return 0.0  # it starts from verified labels
    if wrong is not None or has_own_labels(results.study, dataset):
        return rate if wrong is None else wrong
    return None if rate is None else 0.0


def _text(
    results: Results,
    dataset: str,
    noise: str,
    counting: Mapping[float, float],
    totals: Mapping[float, float],
    rate: float | None,
) -> str:
    level = next(iter(counting))
    share = "" if rate is None else rate_text(rate)
    if rate is not None and (len(counting) > 1 or not math.isclose(rate, totals[level], abs_tol=SAME)):
        return f"at {share} wrong labels"
    if NoiseLevel(noise, level) in as_given(cell.noise_level for cell in results.cells.values()):
        return "with labels as given" + (f", {share} of them wrong" if rate else "")
    if not makes_noise(noise):
        return f"with the labels of {noise}" + (f", {share} of them wrong" if rate else "")
    if totals[level] == level and rate is not None:
        return f"at {share} wrong labels"
    return f"with labels {level_label(noise, level, own=True)}" + (f", {share} in all" if rate else "")
