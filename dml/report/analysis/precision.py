"""What a study can tell apart: the spread of its differences, and the true difference that its tests would find."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from dml import statistics
from dml.config import Study
from dml.counting import counted
from dml.report.analysis.intervals import search_term
from dml.report.labels import Texts, is_topline
from dml.report.numbers import percent
from dml.report.results import Results, once
from dml.statistics import Term

say = Texts(__file__)

LEVEL = 0.05
POWER = 0.8


@dataclass(frozen=True)
class Spread:
    """How much the paired difference of two methods varies from seed to seed."""

    points: float  # its standard deviation
    freedom: int  # degrees of freedom of the estimate
    searches: float = 0.0  # variance of the mean difference that comes of the two searches, in squared points
    overlap: float = 0.0  # of class splits, `Results.overlap`

    def detectable(self, seeds: int, tests: int) -> float:
        """The true difference in points that is found with a chance of 80%, with Bonferroni's correction over tests."""
        further = self.searches + self.overlap * self.points**2
        return statistics.detectable(self.points, seeds, LEVEL / max(tests, 1), POWER, further)

    def seeds_for(self, points: float, tests: int) -> int | None:
        """The seeds with which a true difference of so many points is found with a chance of 80%; None: no number."""
        found = statistics.pairs_needed(points, self.points, LEVEL / max(tests, 1), POWER, further=self.searches)
        return None if self.searches and found == statistics.MOST_PAIRS else found


def spread_of(scores: pd.DataFrame, terms: Mapping[str, Term] | None = None) -> Spread | None:
    """The spread of differences, pooled over all pairs of methods; None if fewer than two methods share two seeds.

    Parameters
    ----------
    scores : in points, a row per seed and a column per method. Methods that no seed changes, such as closed forms, and
        seeds that not all others finished are left out.
    terms : what the search of each method adds (`searched`).
    """
    scores = scores.loc[:, scores.std() > 0].dropna()
    seeds, methods = scores.shape
    if seeds < 2 or methods < 2:
        return None
    rest = scores.sub(scores.mean(axis=1), axis=0)
    rest = rest - rest.mean()
    freedom = (seeds - 1) * (methods - 1)
    searches = 2 * sum(term.variance for name, term in (terms or {}).items() if name in scores) / methods
    return Spread(math.sqrt(2 * float((rest.to_numpy() ** 2).sum()) / freedom), freedom, searches)


def pooled(spreads: Iterable[Spread | None]) -> Spread | None:
    """One spread for several conditions, weighted by their degrees of freedom."""
    known = [one for one in spreads if one is not None]
    freedom = sum(one.freedom for one in known)
    if not freedom:
        return None
    seeds = sum(one.points**2 * one.freedom for one in known) / freedom
    return Spread(math.sqrt(seeds), freedom, sum(one.searches * one.freedom for one in known) / freedom)


def scores_of(results: Results, dataset: str, noise: str, rate: float) -> pd.DataFrame:
    """The objective in percent of all methods that compete there: a row per seed, a column per cell."""
    key = results.objective(dataset)
    found = {name: results.values(name, key) for name in results.rivals(dataset, noise, rate)}
    return pd.DataFrame({name: values for name, values in found.items() if len(values)})


def conditions(results: Results) -> list[tuple[str, str, float]]:
    """Dataset, noise model and rate of all comparisons of a study, without toplines."""
    return [one for one in results.comparisons if not is_topline(one[1])]


def detectable(results: Results) -> float | None:
    """The true difference from the winner, in points, that is found with a chance of 80%; None: no spread is known."""
    found = spread(results)
    if found is None or not found.points > 0:
        return None
    tests = max(len(results.rivals(*one)) for one in conditions(results)) - 1
    return found.detectable(len(results.study.blocks), tests)


@once
def too_few_seeds(results: Results) -> str:
    """Why comparisons of methods say nothing here; "" if they say something.

    They say nothing with one seed, or if the difference that would be found is larger than all that methods differ by.
    """
    blocks = counted(len(results.study.blocks), results.study.block)
    if len(results.study.blocks) < 2:
        return say("one", blocks=blocks)
    points = detectable(results)
    means = [scores_of(results, *one).mean() for one in conditions(results)]
    widest = max((float(own.max() - own.min()) for own in means if len(own) > 1), default=0.0)
    if points is None or points <= widest:
        return ""
    return say("wide", blocks=blocks, points=percent(points), widest=percent(widest))


def most_comparisons(study: Study) -> int:
    """The comparisons with the winner in the condition with most cells."""
    found = Counter((c.dataset, c.noise, c.rate) for c in study.cells() if not is_topline(c.noise))
    return max(found.values(), default=1) - 1


def spread(results: Results) -> Spread | None:
    """The spread of a study's differences, pooled over its conditions."""
    found = pooled(spread_of(scores_of(results, *one), terms_of(results, *one)) for one in conditions(results))
    return None if found is None else replace(found, overlap=results.overlap)


def terms_of(results: Results, dataset: str, noise: str, rate: float) -> dict[str, Term]:
    """What the search of each method that competes there adds to the variance of its score (`searched`)."""
    key = results.objective(dataset)
    found = {name: search_term(results, name, key) for name in results.rivals(dataset, noise, rate)}
    return {name: term for name, term in found.items() if term is not None}
