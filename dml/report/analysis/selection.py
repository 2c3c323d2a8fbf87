"""Which dataset, labels and score of a study a user selects, and who chooses a method.

Validation classes choose, so that test classes only judge: a cell's validation score is that of its best tuning trial,
the mean over class splits. A study that tunes nothing (`search.sampler: fixed`) has none: there the test classes choose
too, and its pages say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dml import losses
from dml.config.data import makes_noise
from dml.config.for_use import as_given, dataset_for_use, has_user_labels, levels_for_use
from dml.discovery import suggestion
from dml.report.labels import Texts, is_topline, level_label
from dml.report.numbers import rate as rate_text
from dml.report.results import Results
from dml.types import VALIDATION, NoiseLevel, ScoreKey


def dataset_of(results: Results, name: str | None) -> str:
    """The dataset that was asked for; None: the only one with results."""
    if results.confirmed.empty:
        study = results.study.name
        raise ValueError(
            f"study {study!r} has no finished trials. {results.problem} Run it: dml run {study}. A model of what is "
            f"free needs none: dml refit {study} --free".replace("  ", " ")
        )
    datasets = (results.cells[name].dataset for name in results.confirmed["cell"])
    return dataset_for_use(datasets, name, results.study.name)


class Labels(NamedTuple):
    """The labels that a recommendation is for."""

    level: NoiseLevel  # of the study
    rate: float | None  # the share of them that is wrong; None: nobody knows it
    text: str  # `with labels as given`, `at 10% wrong labels`


def labels_of(
    results: Results, dataset: str, noise: str | None, rate: float | None, wrong: float | None, key: str
) -> Labels:
    """The noise level of the study that is asked for, with results of the score `key`, as `recommend` takes it.

    Toplines do not count. Of a user's own labels `rate` is that of the labels as given.
    """
    study, user_labels = results.study.name, has_user_labels(results.study, dataset)
    levels = [c.noise_level for c in results.cells.values() if c.dataset == dataset and not is_topline(c.noise)]
    if not levels:
        raise ValueError(f"study {study!r} has only toplines, which leave samples out: no noise to choose")
    measured = [
        level
        for level in dict.fromkeys(levels)
        if any(len(results.values(n, key)) for n in results.rivals(dataset, *level))
    ]
    if rate is None or user_labels:
        level = levels_for_use(levels, noise, study)[0]
        if level not in measured:
            choices = ", ".join(map(str, measured)) or "none"
            raise ValueError(f"study {study!r}: no trial at {level} has finished. Choices of --noise: {choices}")
    else:
        level = _nearest(study, measured, noise, rate)
    counted = 0.0 if makes_noise(level.noise) else level.rate  # of labels that somebody gave, beside verified ones
    made = level.rate - counted
    made_wrong = not user_labels and (rate is not None or made > 0)
    if rate is None and counted:
        rate = counted
    elif rate is None and (wrong is not None or (made and not user_labels)):
        given = 0.0 if wrong is None or any(section.by_given for section in results.study.noise) else wrong
        rate = given + made - given * made
    return Labels(level, rate, _text(level, rate, made_wrong, level in as_given(levels)))


def _nearest(study: str, levels: list[NoiseLevel], noise: str | None, rate: float) -> NoiseLevel:
    """The level of a noise at the nearest rate; half-way the higher one."""
    noises = list(dict.fromkeys(level.noise for level in levels))
    if str(noise) in map(str, levels):
        raise ValueError(f"noise: {noise} says how many labels were made wrong: leave --rate out, or name the noise")
    if noise is None and len(noises) > 1:
        raise ValueError(f"noise: study {study!r} has several: choose one with --noise: {', '.join(noises)}")
    if noise not in (None, *noises):
        raise ValueError(f"noise: study {study!r} has no results of {noise!r}{suggestion(str(noise), noises)}")
    rates = [level for level in levels if noise in (None, level.noise)]
    return min(rates, key=lambda level: (round(abs(level.rate - rate), 9), -level.rate))


def _text(level: NoiseLevel, rate: float | None, made_wrong: bool, given: bool) -> str:
    if rate is not None and made_wrong:
        return f"at {rate_text(rate)} wrong labels"
    if given or not makes_noise(level.noise):
        share = f", {rate_text(rate)} of them wrong" if rate else ""
        return f"with labels as given{share}" if given else f"with the labels of {level.noise}{share}"
    return f"with labels {level_label(*level, user_labels=True)}" + (f", {rate_text(rate)} in all" if rate else "")


def score_of(results: Results, dataset: str, score: str | None) -> str:
    """The key of the score that was asked for: a key, or a metric on the set and level of the objective; None: that."""
    objective = results.objective(dataset)
    if score is None:
        return objective
    key = score if ScoreKey.is_spelt(score) else str(ScoreKey.parse(objective)._replace(metric=score))
    cells = {name for name, cell in results.cells.items() if cell.dataset == dataset}
    keys = [
        candidate
        for candidate in results.score_keys
        if ScoreKey.parse(candidate).set != VALIDATION and any(len(results.values(name, candidate)) for name in cells)
    ]
    if key not in keys:
        raise ValueError(f"score: study {results.study.name!r} has no {score!r}{suggestion(key, keys)}")
    return key


say = Texts(__file__)

ON_VALIDATION = say("on_validation")
ON_TEST = say("on_test")


def validation(results: Results, name: str) -> float:
    """A cell's validation score in percent; NaN if it has none on some class split."""
    rows = results.tuned_of(name)
    best = rows.loc[rows["status"] == "finished"].groupby("split")["objective"].max().dropna()
    return 100 * float(best.mean()) if len(best) == results.study.splits else math.nan


def validations(results: Results, names: Iterable[str]) -> dict[str, float] | None:
    """The validation scores by which one of these cells is chosen; None if they cannot choose.

    Methods in closed form are never chosen: they have nothing to tune, and training is judged against them. Nor is one
    whose tuning trials all failed on some class split.
    """
    trained = [n for n in names if losses.closed_form_of(results.cells[n].loss.name) is None]
    scores = {name: validation(results, name) for name in trained}
    scored = {name: score for name, score in scores.items() if not math.isnan(score)}
    return scored if scored and not any(results.tuned_of(name).empty for name in trained) else None


def best_of(scores: Mapping[str, float]) -> str:
    """The first of the highest. Rounded, or the order of additions would decide between equal means."""
    return max(scores, key=lambda name: round(scores[name], 9))


def explained(results: Results, names: Iterable[str]) -> str:
    """Who chose among these cells, in a sentence."""
    scored = [name for name in names if len(results.confirmed_of(name))]
    return ON_TEST if validations(results, scored) is None else ON_VALIDATION
