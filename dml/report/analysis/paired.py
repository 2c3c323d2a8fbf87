"""Paired comparisons over seeds, corrected for several comparisons, or adjusted for the choice of a winner.

The best of several equal methods always leads. So the p of a rival is adjusted: the chance that the best of as many
equal methods would lead any other by at least as large a paired t, simulated with independent normal scores and a fixed
seed. Step-down: a rival is compared only with the methods that have no larger t, the closed test (Marcus, Peritz and
Gabriel, Biometrika 1976) of all sets of equal methods that contain the winner.

What remains of a score under noise is its share of its topline's (figure (d) of Le, Odobez: Theoretical guarantees of
deep embedding losses under label noise), or in a study without toplines of that of the cell at rate 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dml import statistics
from dml.report.analysis.intervals import score_interval, search_terms, summary_of, weighted_interval, with_estimate
from dml.report.analysis.selection import best_of, validations
from dml.report.labels import is_topline
from dml.report.results import Results, once
from dml.seeding import numpy_generator

NUMBERS = 10_000_000  # of one simulation
DRAWS = 20_000  # studies in one simulation, at most
MANY = 30  # pairs, such as queries: with more, the adjustment of a p hardly changes
ROUNDING = 1e-6  # of simulated t, which are kept in single precision


def adjusted_p(p: Sequence[float], pairs: Sequence[int]) -> np.ndarray:
    """The adjusted p (R,) of the winner's comparison with each of R other methods, at least as large as p.

    Parameters
    ----------
    p : (R,), two-sided, by the paired t-test; NaN without a test. Such a method counts among those that could win.
    pairs : (R,), the seeds or queries that the winner shares with each.
    """
    adjusted, least, methods = np.full(len(p), np.nan), 0.0, len(p) + 1
    for rank, i in enumerate(np.lexsort((pairs, p))):  # NaN is last
        if np.isnan(p[i]):
            break
        least = max(least, _chance(p[i], min(pairs[i], MANY), methods - rank, methods))
        adjusted[i] = least
    return adjusted


def _chance(p: float, n: int, left: int, methods: int) -> float:
    """That the best of `left` equal methods has a comparison with this p or a lower one."""
    leads = _leads(methods, n)[left - 1]
    as_large = np.count_nonzero(leads >= -special.stdtrit(n - 1, p / 2) * (1 - ROUNDING))
    return min(1.0, max(p, min((1 + as_large) / (1 + leads.size), p * left * (left - 1) / 2)))


@cache
def _leads(methods: int, n: int) -> np.ndarray:
    """In row m, the highest paired t of the best of m + 1 equal methods against the others, (methods, draws)."""
    draws = min(DRAWS, NUMBERS // (methods * n))
    normal = numpy_generator(0, "leads of the best of equal methods")
    scores = np.empty((methods, draws, n))
    leads = np.zeros((methods, draws), np.float32)
    for m in range(methods):
        scores[m] = normal.standard_normal((draws, n))
        if m == 0:
            best, highest = scores[0].copy(), np.zeros(draws)
            continue
        t = _paired_t(best - scores[m])
        highest = np.maximum(highest, t)
        first = np.flatnonzero(t < 0)  # where this method is the new best
        best[first] = scores[m, first]
        highest[first] = _paired_t(best[first] - scores[:m, first]).max(axis=0)
        leads[m] = highest
    return leads


def _paired_t(differences: np.ndarray) -> np.ndarray:
    """Of the last dimension; `std` takes three times as long."""
    n, mean = differences.shape[-1], differences.mean(axis=-1)
    squares = np.einsum("...i,...i", differences, differences)
    return mean / np.sqrt((squares - n * mean**2) / (n * (n - 1)))


LEVEL = 0.05


def paired(first: pd.Series, second: pd.Series, overlap: float) -> dict[str, Any]:
    """`difference`, `low`, `high`, `p` and `seeds` of first minus second, on the seeds (index) that both have.

    `overlap` is `Results.overlap`.
    """
    first, second = first.align(second, join="inner")
    row = {"difference": np.nan, "low": np.nan, "high": np.nan, "p": np.nan, "seeds": len(first)}
    if not len(first):
        return row
    differences = first.to_numpy() - second.to_numpy()
    s = statistics.summary(differences, bounds=(-100.0, 100.0), overlap=overlap)
    p = statistics.paired_t(differences, overlap)
    return row | {"difference": s.mean, "low": s.low, "high": s.high, "p": p}


def against_winner(
    scores: Mapping[str, pd.Series],
    validation: Mapping[str, float] | None = None,
    covering: Callable[[dict[str, Any]], dict[str, Any]] = lambda row: row,
    overlap: float = 0.0,
) -> list[dict[str, Any]]:
    """The winner, the first one in a tie, compared with each other method.

    Parameters
    ----------
    scores : on test classes by name, in percent, indexed by seed. A name without scores takes no part.
    validation : scores that choose the winner; None: the highest mean of `scores` wins.
    covering : replaces the intervals and p of a row, before they are corrected.
    overlap : of class splits, `Results.overlap`.

    Returns
    -------
    For each other method, highest mean first: winner, other (names), `winner mean` and so on, those of `paired`, and
    `p adjusted`: by Holm's correction if validation classes chose, else for the choice of the winner (`adjusted_p`).
    A winner without others has one row, in which `other` is empty; without scores there is no row.
    """
    ranked = sorted((name for name, values in scores.items() if len(values)), key=lambda name: -scores[name].mean())
    if not ranked:
        return []
    winner = ranked[0] if validation is None else best_of({name: validation[name] for name in validation})
    best = scores[winner]
    first = {"winner": winner} | summary_of(best, "winner", overlap=overlap)
    others = [first | {"other": name} | paired(best, scores[name], overlap) for name in ranked if name != winner]
    others = others or [first | {"other": ""} | paired(best, pd.Series(dtype=float), overlap)]
    others = [covering(row) for row in others]
    p = np.array([row["p"] for row in others])
    if validation is None:
        adjusted = adjusted_p(p.tolist(), [row["seeds"] for row in others])
    else:
        adjusted = np.full(len(p), np.nan)
        adjusted[np.isfinite(p)] = statistics.holm(p[np.isfinite(p)].tolist())
    return [row | {"p adjusted": value} for row, value in zip(others, adjusted.tolist(), strict=True)]


def compared(results: Results, key: str, cells: Sequence[str]) -> list[dict[str, Any]]:
    """`against_winner` of some cells with the intervals and p that `interval_sources` names."""

    def covering(row: dict[str, Any]) -> dict[str, Any]:
        row = with_estimate(row, score_interval(results, key, row["winner"]), "winner ")
        if not row["other"]:
            return row
        return with_estimate(row, weighted_interval(results, key, {row["winner"]: 1.0, row["other"]: -1.0}))

    scores = {name: results.values(name, key) for name in cells}
    choosing = validations(results, [name for name in cells if len(scores[name])])
    return against_winner(scores, choosing, covering, results.overlap)


@once
def versus_winner(results: Results) -> pd.DataFrame:
    """The winner of each dataset, noise model and rate, compared with every other method there (`Results.rivals`).

    Returns
    -------
    Columns dataset, noise and rate, and those of `against_winner`, with names of cells.
    """
    rows: list[dict[str, Any]] = []
    for group in results.comparisons:
        condition = dict(zip(("dataset", "noise", "rate"), group, strict=True))
        rows += [condition | row for row in compared(results, results.objective(group[0]), results.rivals(*group))]
    return pd.DataFrame(rows)


POWER = 0.8


def detectable(results: Results) -> float | None:
    """The true difference from the winner, in points, that the tests find with a chance of 80%; None: not known.

    The spread of differences is pooled over all pairs of methods and all conditions, the correction Bonferroni's.
    """
    squares = freedom = searches = 0.0
    groups = [group for group in results.comparisons if not is_topline(group[1])]
    for group in groups:
        key, names = results.objective(group[0]), results.rivals(*group)
        scores = pd.DataFrame({name: results.values(name, key) for name in names if len(results.values(name, key))})
        scores = scores.loc[:, scores.std() > 0].dropna()
        seeds, methods = scores.shape
        if seeds > 1 and methods > 1:
            rest = scores.sub(scores.mean(axis=1), axis=0)
            squares += 2 * float(((rest - rest.mean()).to_numpy() ** 2).sum())
            weight = (seeds - 1) * (methods - 1)
            terms = search_terms(results, dict.fromkeys(scores, 1.0), key)
            freedom += weight
            searches += weight * 2 * sum(term.variance for term in terms) / methods
    if not squares:
        return None
    tests = max(len(results.rivals(*group)) for group in groups) - 1
    further = searches / freedom + results.overlap * squares / freedom
    spread = (squares / freedom) ** 0.5
    return statistics.detectable(spread, len(results.study.blocks), LEVEL / max(tests, 1), POWER, further)


LEFT = 90.0  # percent of the reference; a method breaks where its share falls below


def reference(results: Results, name: str) -> str | None:
    """The reference of a cell: its topline, or its clean counterpart, its method's cell at rate 0, or None."""
    cell = results.cells[name]
    cells = results.cells_by_method[cell.dataset, results.methods[name]]
    topline = next((n for (noise, rate), n in cells.items() if is_topline(noise) and rate == cell.rate), None)
    return topline or cells.get((cell.noise, 0.0))


def kept(results: Results, name: str, key: str) -> pd.Series:
    """A cell's score in percent of its reference's, indexed by seed; only where that is above 0."""
    by = reference(results, name)
    if by is None:
        return pd.Series(dtype=float)
    mine, theirs = results.values(name, key).align(results.values(by, key), join="inner")
    return 100 * mine[theirs > 0] / theirs[theirs > 0]


def break_point(rates: list[float], shares: list[float], left: float = LEFT) -> float:
    """The rate at which the share first falls below `left`, interpolated; infinite if it never does."""
    before = (0.0, 100.0)
    for rate, share in sorted(zip(rates, shares, strict=True)):
        if share < left:
            slope = (before[1] - left) / (before[1] - share)
            return before[0] + slope * (rate - before[0])
        before = (rate, share)
    return float("inf")
