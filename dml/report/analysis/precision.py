"""What a study can tell apart: the spread of its differences, and the true difference that its tests would find."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from dml import statistics
from dml.config import Study
from dml.report.noises import is_topline
from dml.report.results import Results

LEVEL = 0.05
POWER = 0.8


@dataclass(frozen=True)
class Spread:
    """How much the paired difference of two methods varies from seed to seed."""

    points: float  # its standard deviation
    freedom: int  # degrees of freedom of the estimate

    def detectable(self, seeds: int, tests: int) -> float:
        """The true difference in points that is found with a chance of 80%, with Bonferroni's correction over tests."""
        return statistics.detectable(self.points, seeds, LEVEL / max(tests, 1), POWER)

    def seeds_for(self, points: float, tests: int) -> int:
        """The seeds with which a true difference of so many points is found with a chance of 80%."""
        return statistics.pairs_needed(points, self.points, LEVEL / max(tests, 1), POWER)


def spread_of(scores: pd.DataFrame) -> Spread | None:
    """The spread of differences, pooled over all pairs of methods; None if fewer than two methods share two seeds.

    Parameters
    ----------
    scores : in points, a row per seed and a column per method. Methods that no seed changes, such as closed forms, and
        seeds that not all others finished are left out.
    """
    scores = scores.loc[:, scores.std() > 0].dropna()
    seeds, methods = scores.shape
    if seeds < 2 or methods < 2:
        return None
    rest = scores.sub(scores.mean(axis=1), axis=0)
    rest = rest - rest.mean()
    freedom = (seeds - 1) * (methods - 1)
    return Spread(math.sqrt(2 * float((rest.to_numpy() ** 2).sum()) / freedom), freedom)


def pooled(spreads: Iterable[Spread | None]) -> Spread | None:
    """One spread for several conditions, weighted by their degrees of freedom."""
    known = [one for one in spreads if one is not None]
    freedom = sum(one.freedom for one in known)
    if not freedom:
        return None
    return Spread(math.sqrt(sum(one.points**2 * one.freedom for one in known) / freedom), freedom)


def scores_of(results: Results, dataset: str, noise: str, rate: float) -> pd.DataFrame:
    """The objective in percent of all methods that compete there: a row per seed, a column per cell."""
    key = results.objective(dataset)
    found = {name: results.values(name, key) for name in results.rivals(dataset, noise, rate)}
    return pd.DataFrame({name: values for name, values in found.items() if len(values)})


def conditions(results: Results) -> list[tuple[str, str, float]]:
    """Dataset, noise model and rate of all comparisons of a study, without toplines."""
    found = dict.fromkeys((cell.dataset, cell.noise, cell.rate) for cell in results.cells.values())
    return [one for one in found if not is_topline(one[1])]


def most_comparisons(study: Study) -> int:
    """The comparisons with the winner in the condition with most cells."""
    found = Counter((c.dataset, c.noise, c.rate) for c in study.cells() if not is_topline(c.noise))
    return max(found.values(), default=1) - 1


def spread(results: Results) -> Spread | None:
    """The spread of a study's differences, pooled over its conditions."""
    return pooled(spread_of(scores_of(results, *one)) for one in conditions(results))


def rank_intervals(scores: pd.DataFrame) -> pd.DataFrame:
    """`lowest` and `highest` rank of each method (index), which all hold together with 95%.

    All pairs are tested by the paired t-test over seeds with Holm's correction.
    """
    names, values = list(scores), scores.to_numpy()
    first, second = np.triu_indices(len(names), 1)
    differences, p = np.empty(len(first)), np.empty(len(first))
    for i in range(len(names) - 1):  # a method against all later ones
        rows = first == i
        found = values[:, [i]] - values[:, i + 1 :]
        differences[rows], p[rows] = np.nanmean(found, axis=0), _paired_t(found)
    known = np.isfinite(p)
    p[known] = np.asarray(statistics.holm(p[known].tolist()))
    above = np.zeros((len(names), len(names)), dtype=bool)
    for won, lost, sign in ((first, second, 1), (second, first, -1)):
        clear = known & (p < LEVEL) & (sign * differences > 0)
        above[won[clear], lost[clear]] = True
    return pd.DataFrame(statistics.rank_intervals(above), index=names, columns=["lowest", "highest"])


def _paired_t(differences: np.ndarray) -> np.ndarray:
    """`statistics.paired_t` of each column (seeds, C), NaN left out: at once where a column is complete and varies."""
    with np.errstate(invalid="ignore", divide="ignore"):
        n, spread = len(differences), differences.std(axis=0, ddof=1)
        p = 2 * special.stdtr(n - 1, -np.abs(differences.mean(axis=0)) / (spread / n**0.5))
    for column in np.flatnonzero(~(spread > 1e-9)):
        own = differences[:, column]
        p[column] = statistics.paired_t(own[~np.isnan(own)])
    return p
