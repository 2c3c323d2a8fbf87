"""What tuning decides: leads that only exist without it, and the settings that a method's score depends on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.best_methods import best_series
from dml.report.labels import Texts, joined, metric_label, noise_label, readable, score_label
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Column, Drawing, Table
from dml.report.results import Results, parsed
from dml.report.sections._rows import condition_columns, series_frame

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


say = Texts(__file__)

LEAST = 2  # tuning trials of a cell
NAMED = 4  # settings that a score depends on, at most


class Tuning:
    """The expected best after k tuning trials."""

    anchor, title = "tuning", "What tuning decides"

    def applies(self, results: Results) -> bool:
        """Two cells with at least two tuning trials each."""
        return sum(len(validation_scores(results, name)) >= LEAST for name in results.cells) > 1

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset and noise model, who leads after how many trials, and importances."""
        for dataset, noise in results.conditions:
            yield _drawing(results, dataset, noise)
        yield leaders(results)
        yield dependence(results)


def leaders(results: Results) -> Table | None:
    """One row per condition: who leads after one trial and after all, and whether the first lead needs no tuning."""
    rows: list[dict[str, Any]] = []
    for dataset, noise in results.conditions:
        for rate in results.rates(dataset, noise):
            curves = {name: expected_best(results, name) for name in results.rivals(dataset, noise, rate)}
            curves = {name: own for name, own in curves.items() if len(own) >= LEAST}
            if len(curves) < 2:
                continue
            last = min(len(own) for own in curves.values())
            first, final = (max(curves, key=lambda name, k=k: curves[name][k]) for k in (1, last))  # type: ignore[misc]
            names = {"first": results.methods[first].label, "final": results.methods[final].label}
            leads = {
                f"lead {when}": curves[first][k] - max(own[k] for name, own in curves.items() if name != first)
                for when, k in (("at 1", 1), ("at last", last))
            }
            lasts = "yes" if first == final else "no: it leads only without tuning"
            row = {"dataset": dataset, "noise": noise_label(noise), "rate": rate} | names
            rows.append(row | leads | {"lasts": lasts, "trials": last})
    if not rows:
        return None
    columns = (
        *condition_columns(results),
        Column("first", "Leads after 1 trial"),
        Column("lead at 1", "By", "difference", "before the next one, in points, after 1 trial"),
        Column("final", "Leads after all"),
        Column("trials", "Trials", "count", "of each method"),
        Column("lead at last", "First's lead after all", "difference", "of the one that led after 1 trial, in points"),
        Column("lasts", "Does the first lead last?"),
    )
    caption = joined(say("leaders", metric=metric_label(results.study.search.objective)), say("how"))
    return Table("leaders", "Who leads after how many trials", caption, columns, pd.DataFrame(rows))


def dependence(results: Results) -> Table | None:
    """One row per loss: how far its score depends on its settings, and on which."""
    cells: dict[str, list[str]] = {}
    for name in results.cells:
        if len(validation_scores(results, name)) >= LEAST:
            cells.setdefault(readable(results.cells[name].loss.name), []).append(name)
    rows = []
    for loss, names in cells.items():
        settings, scores = trials_of(results, names)
        largest = list(importances(settings, scores).items())[:NAMED]
        which = ", ".join(f"{readable(key.split('.', 1)[-1])} {written(share)}" for key, share in largest)
        tried = [validation_scores(results, name) for name in names]
        gain = float(np.mean([own.max() - np.median(own) for own in tried]))
        rows.append({"loss": loss, "gain": gain, "trials": len(scores), "which": which or "too few trials to say"})
    if not rows:
        return None
    columns = (
        Column("loss", "Loss", "name"),
        Column("gain", "Best over median", "difference", "the best tuning trial minus the median one, mean over cells"),
        Column("which", "Depends on"),
        Column("trials", "Trials", "count", "tuning trials of all its cells"),
    )
    return Table("dependence", "Dependence on settings", say("dependence"), columns, pd.DataFrame(rows))


def _drawing(results: Results, dataset: str, noise: str) -> Drawing:
    """A panel per noise rate, a line per method."""
    found = {name: expected_best(results, name) for name in results.cells_of(dataset, noise)}
    found = {name: values for name, values in found.items() if len(values) >= LEAST}
    labels = ("tuning trials", score_label(results.objective(dataset, "validation")))
    figure, added = best_series(results, found, results.objective(dataset), labels)
    metric = metric_label(results.study.search.objective)
    caption = joined(say("figure", metric=metric, where=results.where(dataset, noise)) + added, say("how"))
    data = series_frame(results, found, "trials", "expected best")
    return Drawing(f"tuning-{dataset}-{noise}", figure, data, say("alt"), caption)
