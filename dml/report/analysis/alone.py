"""Trained heads against the features that they start from, scored without a head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dml import statistics
from dml.report.results import Results
from dml.statistics import Summary


@dataclass(frozen=True)
class AgainstAlone:
    """The best head of one condition beside the features alone. Scores in percent, differences in points."""

    dataset: str
    noise: str
    rate: float
    alone: float
    best: str  # the cell with the highest mean
    gain: Summary  # its scores over seeds, minus that of the features
    above: int  # the cells whose mean is above the features
    cells: int


def alone(results: Results, dataset: str, key: str) -> float | None:
    """A score of the features without a head, in percent; of several kinds of features the highest. None: unknown."""
    found = [own[key] for own in kinds(results, dataset).values() if key in own]
    return 100 * max(found) if found else None


def against_alone(results: Results, dataset: str, noise: str, rate: float, key: str) -> AgainstAlone | None:
    """The best head at a noise rate against the features alone; None if either has no score."""
    own = alone(results, dataset, key)
    values = {name: results.values(name, key) for name in results.rivals(dataset, noise, rate)}
    means = {name: float(found.mean()) for name, found in values.items() if len(found)}
    if own is None or not means:
        return None
    best = max(means, key=lambda name: means[name])
    gain = statistics.summary(values[best] - own)
    return AgainstAlone(dataset, noise, rate, own, best, gain, sum(m > own for m in means.values()), len(means))


def kinds(results: Results, dataset: str) -> Mapping[str, Mapping[str, float]]:
    """By the name of the features: their scores, shares of 1 by `<set>/<level>/<metric>`."""
    found = results.summary.get("features_alone", {})
    return found.get(dataset, {})
