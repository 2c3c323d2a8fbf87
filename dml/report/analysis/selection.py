"""Which dataset, noise model and score of a study a user selects.

Who chooses a method: validation classes, so that test classes only judge.

A cell's validation score is that of its best tuning trial, the mean over class splits. It decides where every method
that is trained has one. A study that tunes nothing (`search.sampler: fixed`) has none: there the test classes choose
too, and its pages say so.

Scores of methods at a noise rate that a study may not have measured.

Between two measured rates each seed's score is interpolated linearly, so methods are compared there as at measured
rates, paired over seeds. Beyond the measured rates the nearest one counts: nothing is extrapolated.

Which labels a recommendation is for: as given, at a noise level of the study, or at a share of wrong ones.

A share is of all labels. Labels as given may be wrong themselves: then the study's rate 0 is their share, and its rate
`r`, which it made wrong on purpose, is the higher share that is wrong in all. So nothing is added to what is wrong
already.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from dml import losses
from dml.config.for_use import as_given, dataset_for_use, has_own_labels, levels_for_use, makes_noise
from dml.discovery import suggestion
from dml.report.labels import Texts, is_topline, level_label
from dml.report.numbers import rate as rate_text
from dml.report.results import Results
from dml.types import VALIDATION, NoiseLevel, ScoreKey


def dataset_of(results: Results, asked: str | None) -> str:
    """The dataset that was asked for; None: the only one with results.

    Raises
    ------
    ValueError : there are no results, or several, or not of this one; with the choices.
    """
    if results.confirmed.empty:
        study = results.study.name
        raise ValueError(
            f"study {study!r} has no finished trials. {results.problem} Run it: dml run {study}".replace("  ", " ")
        )
    datasets = (results.cells[name].dataset for name in results.confirmed["cell"])
    return dataset_for_use(datasets, asked, results.study.name)


def noise_of(results: Results, dataset: str, asked: str | None, rate: float | None) -> tuple[str, float | None]:
    """The noise that is asked for, and its rate where that is decided. Toplines do not count.

    Without a rate it is that of the level that models for use are of (`dml.config.for_use`).

    Parameters
    ----------
    asked : a noise of the study, or a level (`uniform-0.2`); None: labels as given, or with a rate its only noise.
    rate : the share of wrong labels that is asked for; None: none.

    Raises
    ------
    ValueError : as `dml.config.for_use.levels_for_use`, there are several noises for a rate, or a level has a rate too.
    """
    study = results.study.name
    levels = [c.noise_level for c in results.cells.values() if c.dataset == dataset and not is_topline(c.noise)]
    if not levels:
        raise ValueError(f"study {study!r} has only toplines, which leave samples out: no noise to choose")
    if rate is None:
        return levels_for_use(levels, asked, study)[0]
    if asked in [str(level) for level in levels]:
        raise ValueError(
            f"noise: {asked} says how many labels were made wrong: leave --rate out, or name only the noise"
        )
    given = [level.noise for level in as_given(levels) if not makes_noise(level.noise)]
    known = list(dict.fromkeys(level.noise for level in levels))
    noise = (given or known)[0] if asked is None and (given or len(known) == 1) else asked
    if noise is None:
        raise ValueError(f"noise: study {study!r} has several: choose one with --noise: {', '.join(known)}")
    if noise not in known:
        raise ValueError(f"noise: study {study!r} has no results of {noise!r}{suggestion(noise, known)}")
    return noise, None


def score_of(results: Results, dataset: str, asked: str | None) -> str:
    """The key of the score that was asked for: a key, or a metric on the set and level of the objective; None: that.

    Raises
    ------
    ValueError : the dataset has no such score; with the choices.
    """
    objective = results.objective(dataset)
    if asked is None:
        return objective
    key = asked if ScoreKey.is_spelt(asked) else str(ScoreKey.parse(objective)._replace(metric=asked))
    cells = {name for name, cell in results.cells.items() if cell.dataset == dataset}
    known = [
        own
        for own in results.score_keys
        if ScoreKey.parse(own).set != VALIDATION and any(len(results.values(name, own)) for name in cells)
    ]
    if key not in known:
        raise ValueError(f"score: study {results.study.name!r} has no {asked!r}{suggestion(key, known)}")
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

    Methods in closed form are never chosen: they have nothing to tune, and training is judged against them.
    """
    trained = [n for n in names if losses.closed_form_of(results.cells[n].loss.name) is None]
    return known({name: validation(results, name) for name in trained})


def known(found: Mapping[str, float]) -> dict[str, float] | None:
    """The scores if there are some and none is NaN."""
    return dict(found) if found and not any(map(math.isnan, found.values())) else None


def best_of(scores: Mapping[str, float]) -> str:
    """The first of the highest. Rounded, or the order of additions would decide between equal means."""
    return max(scores, key=lambda name: round(scores[name], 9))


def chosen_on_validation(results: Results, names: Iterable[str]) -> bool:
    """Whether validation classes choose among these cells; else test classes do."""
    return validations(results, [name for name in names if len(results.confirmed_of(name))]) is not None


def explained(results: Results, names: Iterable[str]) -> str:
    """Who chose among these cells, in a sentence."""
    return ON_VALIDATION if chosen_on_validation(results, names) else ON_TEST


SAME = 1e-6  # rates that differ by less are one
Mix = Mapping[str, float]  # names of cells, and how much each counts; the shares sum to 1


def mixed(results: Results, mix: Mix, key: str) -> pd.Series:
    """A method's scores in percent by block (`Results.values`), of the blocks that all cells of its mix have."""
    own = [results.values(name, key) for name in mix]
    if len(own) == 1:
        return own[0]
    return (pd.concat(own, axis=1, join="inner") * list(mix.values())).sum(axis=1)


def measured(results: Results, dataset: str, noise: str, key: str) -> list[float]:
    """The noise rates, ascending, at which some method has a score."""
    cells = {rate: results.cells_of(dataset, noise, rate) for rate in results.rates(dataset, noise)}
    return [rate for rate, names in cells.items() if any(len(results.values(name, key)) for name in names)]


def shares(rates: Sequence[float], rate: float) -> dict[float, float]:
    """How much each measured rate counts at `rate`: one or two of them, the nearest first. The shares sum to 1.

    Half-way between two rates, the higher one is first.
    """
    nearest = min(rates, key=lambda own: (round(abs(own - rate), 9), -own))
    below, above = [own for own in rates if own < rate], [own for own in rates if own > rate]
    if math.isclose(nearest, rate, abs_tol=SAME) or not below or not above:
        return {nearest: 1.0}
    low, high = max(below), min(above)
    share = (rate - low) / (high - low)
    found = {low: 1 - share, high: share}
    return {own: found[own] for own in sorted(found, key=lambda own: own != nearest)}


def mixes_at(results: Results, dataset: str, noise: str, counting: Mapping[float, float], key: str) -> dict[str, Mix]:
    """The cells of each method at the rates that count, under the name of its cell at the first of them.

    Methods without a seed that all of these rates have are left out; `methods_at` says which compete.

    Parameters
    ----------
    counting : as `shares` returns them.
    key : of the score.
    """
    found: dict[str, Mix] = {}
    for name in methods_at(results, dataset, noise, counting):
        own = results.cells_by_method[dataset, results.methods[name]]
        mix = {own[noise, rate]: share for rate, share in counting.items() if (noise, rate) in own}
        if len(mix) == len(counting) and len(mixed(results, mix, key)):
            found[name] = mix
    return found


def methods_at(results: Results, dataset: str, noise: str, counting: Mapping[float, float]) -> list[str]:
    """The cells that compete at the first of the rates that count; at a measured rate the report's (`rivals`)."""
    nearest = next(iter(counting))
    names = results.rivals if len(counting) == 1 else results.cells_of
    return names(dataset, noise, nearest)


def validations_at(
    results: Results, dataset: str, noise: str, counting: Mapping[float, float], names: Sequence[str]
) -> dict[str, float] | None:
    """The validation scores that choose among the cells of `mixes_at`, interpolated alike; None: none can."""
    found = dict.fromkeys(names, 0.0)
    for rate, share in counting.items():
        there = {name: results.cells_by_method[dataset, results.methods[name]][noise, rate] for name in names}
        own = validations(results, there.values())
        if own is None:
            return None
        found = {name: found[name] + share * own[cell] for name, cell in there.items() if cell in own and name in found}
    return found


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
