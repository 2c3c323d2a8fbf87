"""The Pareto front of a clean score against the share of it that is kept under label noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dml import statistics
from dml.report.analysis.shares import share
from dml.report.results import Results


@dataclass(frozen=True)
class Kept:
    """One method at one noise rate."""

    clean: str  # its clean counterpart, the cell at rate 0
    noisy: str  # the cell at this rate
    score: statistics.Summary  # at rate 0, in percent
    share: statistics.Summary  # of it that is kept, in percent, paired by seed
    on_front: bool = False


def kept(results: Results, dataset: str, noise: str, rate: float) -> list[Kept]:
    """The methods of one condition, those on the front marked; methods without a clean counterpart are left out."""
    clean = {results.methods[name]: name for name in results.cells_of(dataset, noise, 0.0)}
    key, found = results.objective(dataset), []
    for name in results.cells_of(dataset, noise, rate):
        counterpart = clean.get(results.methods[name])
        if counterpart is None:
            continue
        before, after = results.values(counterpart, key), results.values(name, key)
        shares = share(after, before)
        if len(shares):
            scores = statistics.summary(before.loc[shares.index], bounds=(0, 100))
            found.append(Kept(counterpart, name, scores, statistics.summary(shares)))
    best = front(np.array([[each.score.mean, each.share.mean] for each in found]).reshape(-1, 2))
    return [replace(each, on_front=bool(on)) for each, on in zip(found, best, strict=True)]


def front(points: np.ndarray) -> np.ndarray:
    """bool (n,): the points (n, 2) than which no other is at least as high in both and higher in one."""
    order = np.lexsort((-points[:, 1], -points[:, 0]))
    found, best = np.zeros(len(points), dtype=bool), -np.inf
    last = (np.nan, np.nan)
    for row in order:
        x, y = points[row]
        if y > best or (x, y) == last:
            found[row], best, last = True, y, (x, y)
    return found
