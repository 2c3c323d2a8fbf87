"""Trained methods against what needs no training: pixels or frozen features, and closed-form projections of them.

Projections are fitted to observed labels, so they have scores of their own at each noise rate. A method counts beside
what observed labels choose among them (`<input>, free`), or in older results the best of all on test classes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dml import losses, statistics
from dml.config.data import makes_noise
from dml.config.study import is_pretrained
from dml.report.analysis import intervals
from dml.report.analysis.selection import best_of, validations
from dml.report.methods import is_oracle
from dml.report.results import Results
from dml.statistics import Summary

PIXELS, VECTORS = "pixels", "vectors"  # any other input is frozen features
RERANKED = ", free, re-ranked"  # the end of a name: it needs the whole gallery, so it is no baseline
ROUNDED = 1e-3  # scores in percent that differ by less are one
FEATURES = "features"  # of a pretrained network that trains whole, as long as its embeddings
PROJECTED = {"whitening": "whitened", "components": "components", "lda": "LDA"}
SAME = 1e-6  # noise rates that differ by less are one


@dataclass(frozen=True)
class Baseline:
    """One score without training."""

    name: str  # in the summary: `<input>`, or `<input>, <projection>`
    score: float  # percent
    by_split: tuple[float, ...] = ()  # of each class split, if there are several
    chosen: str = ""  # by observed labels: `whitened, both views`

    @property
    def length(self) -> int | None:
        """The dimensions of `pixels, 64 whitened`; None: all that its input has."""
        projection = self.name.partition(", ")[2].partition(" ")
        return int(projection[0]) if projection[0].isdecimal() else None

    @property
    def label(self) -> str:
        """`pixels`, `vectors`, `frozen features`, `frozen features, 128 whitened`."""
        start, comma, rest = self.name.partition(", ")
        named = start if start in (PIXELS, VECTORS) else "frozen features"
        return f"{named}, {self.chosen}" if self.chosen else named + comma + rest


@dataclass(frozen=True)
class Gain:
    """The best method of one condition beside the best baseline. Scores in percent, differences in points."""

    dataset: str
    noise: str
    rate: float
    untrained: Baseline
    best: str  # the cell that validation classes choose, or with the highest mean (`chosen`)
    gain: Summary  # its scores over seeds, minus the baseline's
    sources: str  # what the interval covers: `intervals.SEARCHES` and so on
    above: int  # the cells whose mean is above the baseline
    cells: int
    on_test: bool  # test classes chose it among several


def untrained(
    results: Results, dataset: str, noise: str, rate: float, key: str, length: int | None = None
) -> Baseline | None:
    """The baseline at a noise rate: what observed labels choose. None: nothing was scored without training.

    The best on test classes for results without that choice, and of a given length.
    """
    choices = _choices(results, dataset, noise, rate)
    baselines = [
        Baseline(name, 100 * score, tuple(100 * split for split in splits), choices.get(name, ""))
        for name, (score, *splits) in _scores(results, dataset, noise, rate, key).items()
    ]
    if all(baseline.name.startswith(PIXELS) for baseline in baselines):
        baselines += _of_the_network(results, dataset, noise, rate, key)
    fits = [one for one in baselines if not one.name.endswith(RERANKED)]
    fits = [one for one in fits if length is None or one.length == length or one.name == FEATURES]
    fits = [one for one in fits if length is None and one.chosen] or fits
    return max(fits, key=lambda baseline: baseline.score, default=None)


def gain_of_best(
    results: Results,
    dataset: str,
    noise: str,
    rate: float,
    key: str,
    length: int | None = None,
    oracles: bool = True,
    method: str | None = None,
) -> Gain | None:
    """The best method at a noise rate, or a given one, against the best baseline; None if either has no score.

    The method is chosen as the winner is. The baseline is the best one on the test classes, which favours it, of
    `length` dimensions or of any number. Without `oracles` no method counts whose filter is told the true rate.
    """
    baseline = untrained(results, dataset, noise, rate, key, length)
    rivals = results.rivals(dataset, noise, rate)
    rivals = [name for name in rivals if oracles or not is_oracle(results.cells[name])]
    values = {name: results.values(name, key) for name in rivals}
    means = {name: float(scores.mean()) for name, scores in values.items() if len(scores)}
    if baseline is None or not means:
        return None
    validated = validations(results, means)
    trained = {name: means[name] for name in means if losses.closed_form_of(results.cells[name].loss.name) is None}
    best = method or best_of(validated or trained or means)  # what trains nothing is a baseline
    gain, sources = gain_of_cell(results, best, baseline, key)
    above = sum(mean > baseline.score for mean in means.values())
    on_test = validated is None and len(trained) > 1
    return Gain(dataset, noise, rate, baseline, best, gain, sources, above, len(means), on_test)


def gain_of_cell(results: Results, cell: str, baseline: Baseline, key: str) -> tuple[Summary, str]:
    """A cell's scores minus the baseline's, and what the interval covers.

    Baselines have no scores of classes, unless a closed form of the study is the same: then both are paired by class.
    """
    apart = results.values(cell, key)
    by_split = len(baseline.by_split) == results.study.splits  # a split whose trials all failed has no score
    apart = apart - ([baseline.by_split[int(split)] for split in apart.index] if by_split else baseline.score)
    gain = _unless_equal(statistics.summary(apart, overlap=results.overlap))
    if results.study.splits > 1:
        return gain, intervals.SPLITS
    at = results.cells[cell]
    closed = _closed_forms(results, at.dataset, at.noise, at.rate, key)
    alike = (name for name, values in closed.items() if abs(values.mean() - baseline.score) < ROUNDED)
    same = next((name for name in alike if name != cell), None)
    classes = intervals.class_terms(results, key, {cell: 1.0, same: -1.0}) if same else []
    searches = intervals.search_terms(results, {cell: 1.0}, key)
    estimated = intervals.seed_interval(apart, classes, searches)
    if estimated is None:
        return gain, intervals.SEEDS
    low, high = max(estimated.low, -baseline.score), min(estimated.high, 100 - baseline.score)
    gain = _unless_equal(gain._replace(low=low, high=high))
    return gain, (intervals.CLASSES_SEARCHES if searches else intervals.CLASSES) if classes else intervals.SEARCHES


def _unless_equal(gain: Summary) -> Summary:
    """A gain without an interval where all values are equal, as two or three often are by chance; none stays none."""
    equal = abs(gain.mean) >= ROUNDED and gain.high - gain.low < statistics.ROUNDING
    return gain._replace(low=math.nan, high=math.nan) if equal else gain


def _closed_forms(results: Results, dataset: str, noise: str, rate: float, key: str) -> dict[str, pd.Series]:
    """The study's cells that train nothing, and their scores in percent."""
    cells = results.cells_of(dataset, noise, rate)
    closed = [name for name in cells if losses.closed_form_of(results.cells[name].loss.name) is not None]
    scores = {name: results.values(name, key) for name in closed}
    return {name: values for name, values in scores.items() if len(values)}


def _of_the_network(results: Results, dataset: str, noise: str, rate: float, key: str) -> list[Baseline]:
    """The study's closed forms of a pretrained network that trains whole, where baselines are of pixels alone."""
    views = ", both views" * (results.study.evaluation.views == "mirror")
    baselines = []
    for name, values in _closed_forms(results, dataset, noise, rate, key).items():
        cell = results.cells[name]
        word = PROJECTED.get(str(losses.closed_form_of(cell.loss.name)))
        by_split = tuple(values.sort_index()) if results.study.splits > 1 else ()
        if word and is_pretrained(results.study.training_of(cell)):
            baselines.append(Baseline(FEATURES, float(values.mean()), by_split, word + views))
    return baselines


def kinds(results: Results, dataset: str) -> Mapping[str, Mapping[str, float]]:
    """Scores that hold at all noise rates, shares of 1 by `<set>/<level>/<metric>`, by the name of what was scored."""
    fitted = {record["name"] for record in by_noise(results, dataset)}
    scores = results.summary.get("untrained", {}).get(dataset, {})
    return {name: values for name, values in scores.items() if name not in fitted}


def by_noise(results: Results, dataset: str) -> list[Mapping[str, Any]]:
    """Records of projections: `noise`, `rate`, `name` and `scores`. Older studies have none."""
    return [record for record in results.summary.get("untrained_by_noise", ()) if record["dataset"] == dataset]


def _choices(results: Results, dataset: str, noise: str, rate: float) -> dict[str, str]:
    """What was chosen of each `<input>, free`, most often first: `whitened, both views`."""
    counts: dict[str, Counter[str]] = {}
    for record in by_noise(results, dataset):
        if _is_at(record, noise, rate):
            counts.setdefault(record["name"], Counter()).update(record.get("chosen", ()))
    return {name: " or ".join(choice for choice, _ in counter.most_common()) for name, counter in counts.items()}


def _is_at(record: Mapping[str, Any], noise: str, rate: float) -> bool:
    one_of_clean = rate == 0 and makes_noise(noise) and makes_noise(record["noise"])
    return math.isclose(record["rate"], rate, abs_tol=SAME) and (record["noise"] == noise or one_of_clean)


def _scores(results: Results, dataset: str, noise: str, rate: float, key: str) -> dict[str, list[float]]:
    """By name: the score, then that of each class split if there are several."""
    splits = results.summary.get("untrained_by_split", {}).get(dataset, {})
    scores_by_name = {
        name: [values[key], *(split[key] for split in splits.get(name, ()))]
        for name, values in kinds(results, dataset).items()
        if key in values
    }
    for record in by_noise(results, dataset):
        if _is_at(record, noise, rate):
            scores = [record["scores"], *record.get("by_split", ())]
            scores_by_name |= {record["name"]: [values[key] for values in scores]} if key in record["scores"] else {}
    return scores_by_name
