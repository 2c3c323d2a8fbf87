"""Trained methods against what they start from: frozen features without a head, or pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dml import statistics
from dml.report.results import Results
from dml.statistics import Summary

PIXELS, VECTORS = "pixels", "vectors"  # any other name is that of frozen features


@dataclass(frozen=True)
class Gain:
    """The best method of one condition beside no training. Scores in percent, differences in points."""

    dataset: str
    noise: str
    rate: float
    untrained: float
    best: str  # the cell with the highest mean
    gain: Summary  # its scores over seeds, minus the score without training
    above: int  # the cells whose mean is above it
    cells: int


def untrained(results: Results, dataset: str, key: str) -> float | None:
    """A score without training, in percent; of several kinds of input the highest. None: unknown."""
    name = _best(results, dataset, key)
    return None if name is None else 100 * kinds(results, dataset)[name][key]


def gain_of_best(results: Results, dataset: str, noise: str, rate: float, key: str) -> Gain | None:
    """The best method at a noise rate against no training; None if either has no score."""
    own = untrained(results, dataset, key)
    values = {name: results.values(name, key) for name in results.rivals(dataset, noise, rate)}
    means = {name: float(found.mean()) for name, found in values.items() if len(found)}
    if own is None or not means:
        return None
    best = max(means, key=lambda name: means[name])
    gain = statistics.summary(values[best] - own)
    return Gain(dataset, noise, rate, own, best, gain, sum(mean > own for mean in means.values()), len(means))


def kinds(results: Results, dataset: str) -> Mapping[str, Mapping[str, float]]:
    """By the name of what was scored: its scores, shares of 1 by `<set>/<level>/<metric>`."""
    return results.summary.get("untrained", {}).get(dataset, {})


def named(results: Results, dataset: str, key: str) -> str:
    """What has the score of `untrained`, in words: `pixels`, `the vectors`, `the frozen features`."""
    words = {PIXELS: PIXELS, VECTORS: "the vectors"}
    return words.get(_best(results, dataset, key) or "", "the frozen features")


def _best(results: Results, dataset: str, key: str) -> str | None:
    scores = {name: own[key] for name, own in kinds(results, dataset).items() if key in own}
    return max(scores, key=lambda name: scores[name], default=None)
