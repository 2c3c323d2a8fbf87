"""Trained methods against what they start from: frozen features without a head, or pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dml import statistics
from dml.report.results import Results
from dml.statistics import Summary

PIXELS, VECTORS = "pixels", "vectors"  # any other name is that of frozen features
COMPONENTS = " components"  # at the end of the name: of the input's principal components


@dataclass(frozen=True)
class Gain:
    """The best method of one condition beside no training. Scores in percent, differences in points."""

    dataset: str
    noise: str
    rate: float
    untrained: float
    shortened: float | None
    best: str  # the cell with the highest mean
    gain: Summary  # its scores over seeds, minus the score without training
    above: int  # the cells whose mean is above it
    cells: int


def untrained(results: Results, dataset: str, key: str) -> float | None:
    """A score without training, in percent; of several kinds of input the highest. None: unknown."""
    return _highest(_full(results, dataset, key))


def shortened(results: Results, dataset: str, key: str) -> float | None:
    """The same of the input's principal components, as many as embeddings have dimensions. None: unknown."""
    return _highest(_of_kind(results, dataset, key, components=True))


def gain_of_best(results: Results, dataset: str, noise: str, rate: float, key: str) -> Gain | None:
    """The best method at a noise rate against no training; None if either has no score."""
    own = untrained(results, dataset, key)
    values = {name: results.values(name, key) for name in results.rivals(dataset, noise, rate)}
    means = {name: float(found.mean()) for name, found in values.items() if len(found)}
    if own is None or not means:
        return None
    best = max(means, key=lambda name: means[name])
    gain = statistics.summary(values[best] - own)
    short = shortened(results, dataset, key)
    return Gain(dataset, noise, rate, own, short, best, gain, sum(mean > own for mean in means.values()), len(means))


def kinds(results: Results, dataset: str) -> Mapping[str, Mapping[str, float]]:
    """By the name of what was scored: its scores, shares of 1 by `<set>/<level>/<metric>`."""
    return results.summary.get("untrained", {}).get(dataset, {})


def named(results: Results, dataset: str, key: str) -> str:
    """What has the score of `untrained`, in words: `pixels`, `the vectors`, `the frozen features`."""
    scores, words = _full(results, dataset, key), {PIXELS: PIXELS, VECTORS: "the vectors"}
    return words.get(max(scores, key=lambda name: scores[name], default=""), "the frozen features")


def _full(results: Results, dataset: str, key: str) -> dict[str, float]:
    return _of_kind(results, dataset, key, components=False)


def _of_kind(results: Results, dataset: str, key: str, components: bool) -> dict[str, float]:
    found = kinds(results, dataset).items()
    return {name: own[key] for name, own in found if key in own and name.endswith(COMPONENTS) == components}


def _highest(scores: Mapping[str, float]) -> float | None:
    return 100 * max(scores.values()) if scores else None
