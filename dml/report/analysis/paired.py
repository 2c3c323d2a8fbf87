"""Paired comparisons over seeds, corrected for several comparisons, or adjusted for the choice of a winner.

Two cells of one dataset and noise rate are compared on the seeds that both finished: the mean difference, its 95%
interval (Student's t) and the p of the paired t-test; over class splits with the corrected variance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.analysis import best_of_many
from dml.report.analysis.at_rate import Mix, mixed
from dml.report.analysis.interval_coverage import of_difference, of_score, with_estimate
from dml.report.analysis.summaries import summary_of
from dml.report.analysis.validation_choice import best_of, validations
from dml.report.memo import once
from dml.report.results import Results

LEVEL = 0.05


def aligned(first: pd.Series, second: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Both on the seeds (index) that both have."""
    if first.index.equals(second.index):  # as nearly always: thousands of intersections take seconds
        return first, second
    seeds = first.index.intersection(second.index)
    return first[seeds], second[seeds]


def paired(first: pd.Series, second: pd.Series, overlap: float) -> dict[str, Any]:
    """`difference`, `low`, `high`, `p` and `seeds` of first minus second, on the seeds (index) that both have.

    `overlap` is `Results.overlap`.
    """
    first, second = aligned(first, second)
    found = {"difference": np.nan, "low": np.nan, "high": np.nan, "p": np.nan, "seeds": len(first)}
    if not len(first):
        return found
    differences = first.to_numpy() - second.to_numpy()
    s = statistics.summary(differences, bounds=(-100.0, 100.0), overlap=overlap)
    p = statistics.paired_t(differences, overlap)
    return found | {"difference": s.mean, "low": s.low, "high": s.high, "p": p}


def corrected(family: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `holm`: their p after Holm's correction over all of them; NaN if p is."""
    known = [i for i, row in enumerate(family) if np.isfinite(row["p"])]
    adjusted = dict(zip(known, statistics.holm([family[i]["p"] for i in known]), strict=True))
    return [row | {"holm": float(adjusted.get(i, np.nan))} for i, row in enumerate(family)]


def adjusted(others: Sequence[dict[str, Any]], pairs: str = "seeds") -> list[dict[str, Any]]:
    """The winner's comparisons with all other methods, with `p adjusted` for its choice (`best_of_many`).

    Parameters
    ----------
    pairs : the key of the number of pairs behind a p.
    """
    p = best_of_many.adjusted([row["p"] for row in others], [row[pairs] for row in others])
    return [row | {"p adjusted": own} for row, own in zip(others, p.tolist(), strict=True)]


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
    `p adjusted`: by Holm's correction if validation classes chose, else for the choice of the winner (`adjusted`).
    A winner without others has one row, in which `other` is empty; without scores there is no row.
    """
    ranked = sorted((name for name, own in scores.items() if len(own)), key=lambda name: -scores[name].mean())
    if not ranked:
        return []
    chosen = ranked[0] if validation is None else best_of({name: validation[name] for name in validation})
    best = scores[chosen]
    first = {"winner": chosen} | summary_of(best, "winner", overlap=overlap)
    others = [first | {"other": name} | paired(best, scores[name], overlap) for name in ranked if name != chosen]
    others = others or [first | {"other": ""} | paired(best, pd.Series(dtype=float), overlap)]
    others = [covering(row) for row in others]
    if validation is None:
        return adjusted(others)
    return [row | {"p adjusted": row["holm"]} for row in corrected(others)]


def compared(
    results: Results, key: str, mixes: Mapping[str, Mix], validation: Mapping[str, float] | None = None
) -> list[dict[str, Any]]:
    """`against_winner` with the intervals and p that `covered` decides on: what pages and recipes show.

    Parameters
    ----------
    mixes : the cells of each method, by the name that the rows give it.
    """

    def covering(row: dict[str, Any]) -> dict[str, Any]:
        best = mixes[row["winner"]]
        row = with_estimate(row, of_score(results, key, best), "winner ")
        own = of_difference(results, key, best, mixes[row["other"]]) if row["other"] else None
        return with_estimate(row, own)

    scores = {name: mixed(results, mix, key) for name, mix in mixes.items()}
    return against_winner(scores, validation, covering, results.overlap)


def is_worse(row: Mapping[str, Any]) -> bool:
    """Whether the other method of a row of `against_winner` is significantly worse than the winner."""
    return bool(row["p adjusted"] < LEVEL and row["difference"] > 0)


def is_better(row: Mapping[str, Any]) -> bool:
    """Whether it is significantly better, as a closed form may be, which is never chosen."""
    return bool(row["p adjusted"] < LEVEL and row["difference"] < 0)


@once
def versus_winner(results: Results) -> pd.DataFrame:
    """The winner of each dataset, noise model and rate, compared with every other method there (`Results.rivals`).

    Returns
    -------
    Columns dataset, noise and rate, and those of `against_winner`, with names of cells.
    """
    rows: list[dict[str, Any]] = []
    for group in results.comparisons:
        key = results.objective(group[0])
        mixes = {name: {name: 1.0} for name in results.rivals(*group)}
        choosing = validations(results, [name for name in mixes if len(results.values(name, key))])
        condition = dict(zip(("dataset", "noise", "rate"), group, strict=True))
        rows += [condition | row for row in compared(results, key, mixes, choosing)]
    return pd.DataFrame(rows)
