"""How much a tuned method's score depends on its search, from the tuning trials that there are.

Seeds repeat the setting that a search found, not the search. Another search of as many trials would have found another
setting, a little better or worse. How much so is estimated by the bootstrap: trials are drawn with replacement, as
many as there are, and the best of them is chosen, as the search chose (`statistics.resampled_best`). It costs no
training. `benchmarks/comparisons.py` tests it where the truth is known.

Trials count as independent; those of a sampler that learns are not quite. Over class splits nothing is added: each has
a search of its own, which their spread contains.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.estimates import Term
from dml.report.results import Results
from dml.types import VALIDATION, ScoreKey


def search_term(results: Results, cell: str, key: str) -> Term | None:
    """The variance, in squared points, that a cell's search adds to its mean score; None if it has no search.

    Parameters
    ----------
    key : of the score, `test/fine/recall@1`. Tuning trials tell how it varies on validation classes; those without
        that score tell how the search's objective does. Older results of `search: {stop: best}` have scores of the last
        step, not of the best one: there the larger of both counts.
    """
    if results.study.splits > 1:
        return None
    tried = results.tuned_of(cell)
    tried = tried[(tried["status"] == "finished") & np.isfinite(tried["objective"].astype(float))]
    if len(tried) < 2:
        return None
    choosing = 100 * tried["objective"].to_numpy(dtype=float)
    objective = results.objective(results.cells[cell].dataset)
    own = None if _on_validation(objective) == _on_validation(key) else _scores(tried, key)
    found = [statistics.resampled_best(choosing, choosing if own is None else own)]
    if own is not None and not _at_the_best_step(tried, objective, choosing):
        found.append(statistics.resampled_best(choosing, choosing))
    return Term(max(found), len(tried) - 1.0)


def _on_validation(key: str) -> str:
    return str(ScoreKey.parse(key)._replace(set=VALIDATION))


def _scores(tried: pd.DataFrame, key: str) -> np.ndarray | None:
    """A score of tuning trials on validation classes; None if a trial lacks it."""
    own = _on_validation(key)
    scores = 100 * tried[own].to_numpy(dtype=float) if own in tried else np.array([np.nan])
    return scores if np.isfinite(scores).all() else None


def _at_the_best_step(tried: pd.DataFrame, objective: str, choosing: np.ndarray) -> bool:
    """Whether scores of trials are of the step that chose them: older results have those of the last step."""
    own = _scores(tried, objective)
    return own is None or bool(np.allclose(own, choosing, atol=1e-3))


def search_terms(results: Results, weights: Mapping[str, float], key: str) -> list[Term]:
    """Those of a weighted sum of cells' scores, such as a difference."""
    found = {cell: search_term(results, cell, key) for cell in weights}
    return [Term(weights[cell] ** 2 * term.variance, term.freedom) for cell, term in found.items() if term is not None]


def searches(results: Results) -> bool:
    """Whether any cell has a search whose part is known."""
    if results.study.splits > 1 or not results.study.search.tunes:
        return False
    return any(len(results.tuned_of(cell)) > 1 for cell in results.cells)
