"""What tuning decides: the expected best after k trials, and how much each setting explains."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.results import Results, parsed

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

FEW = 10  # with fewer trials importances are not computed
MANY = 100  # trials that importances are computed from, at most: evenly spaced ones
TREES = 800  # of a forest, times trials: with many trials a tree takes long, with few the shares need many trees


def validation_scores(results: Results, cell: str) -> np.ndarray:
    """The objective of a cell's finished tuning trials on validation classes, (n,) in percent, in their order."""
    tried = results.tuned_of(cell)
    scores = tried["objective"].to_numpy(dtype=float)[(tried["status"] == "finished").to_numpy(dtype=bool)]
    return 100 * scores[np.isfinite(scores)]


def expected_best(results: Results, cell: str) -> pd.Series:
    """The expected best validation score of k of a cell's tuning trials (index, from 1 on); empty without trials."""
    scores = validation_scores(results, cell)
    found = statistics.expected_best(scores) if len(scores) else np.array([])
    return pd.Series(found, index=range(1, len(found) + 1), dtype=float)


def importances(settings: Sequence[Mapping[str, Any]], scores: Sequence[float]) -> dict[str, float]:
    """How much of the scores' variance each setting explains, as shares that add up to 1, the largest first.

    Hutter et al. 2014 (fANOVA), as Optuna computes it. A setting without two values, or that some trial lacks, is left
    out; nothing is said of fewer than `FEW` trials, or where one setting or none varies.

    Parameters
    ----------
    settings, scores : of tuning trials of the same search space.
    """
    if len(scores) < FEW or np.ptp(scores) == 0:
        return {}
    step = -(-len(scores) // MANY)
    settings, scores = settings[::step], scores[::step]
    shared = set.intersection(*map(set, settings))
    names = [name for name in settings[0] if name in shared and len({repr(own[name]) for own in settings}) > 1]
    if len(names) < 2:
        return {}
    import optuna  # a second that only tuned studies pay

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        spaces = {name: _space([own[name] for own in settings]) for name in names}
        study = optuna.create_study(direction="maximize")
        for own, score in zip(settings, scores, strict=True):
            values = {name: own[name] if _is_numeric(spaces[name]) else repr(own[name]) for name in names}
            study.add_trial(optuna.trial.create_trial(params=values, distributions=spaces, value=float(score)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = optuna.importance.get_param_importances(
                study,
                evaluator=optuna.importance.FanovaImportanceEvaluator(
                    n_trees=max(16, min(64, TREES // len(scores))), seed=0
                ),
            )
    finally:
        optuna.logging.set_verbosity(verbosity)
    return found


def _space(values: list[Any]) -> BaseDistribution:
    """What was drawn from, as far as the drawn values tell."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if not all(map(_is_number, values)):
        return CategoricalDistribution(sorted({repr(value) for value in values}))
    low, high = float(min(values)), float(max(values))
    return FloatDistribution(low, high, log=low > 0 and math.log10(high / low) > 1)


def _is_numeric(space: BaseDistribution) -> bool:
    return hasattr(space, "low")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def trials_of(results: Results, cells: Sequence[str]) -> tuple[list[dict[str, Any]], list[float]]:
    """What was searched, and validation scores relative to the cell's mean, of the tuning trials of several cells."""
    settings: list[dict[str, Any]] = []
    scores: list[float] = []
    for cell in cells:
        tried = results.tuned_of(cell)
        tried = tried[(tried["status"] == "finished") & tried["objective"].notna()]
        for text in tried["settings"]:
            settings.append({key: value for key, value in (parsed(text) or {}).items() if key not in results.varied})
        scores += list(100 * (tried["objective"] - tried["objective"].mean()))
    return settings, scores
