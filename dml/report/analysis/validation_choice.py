"""Who chooses a method: validation classes, so that test classes only judge.

A cell's validation score is that of its best tuning trial, the mean over class splits. It decides where every method
that is trained has one. A study that tunes nothing (`search.sampler: fixed`) has none: there the test classes choose
too, and its pages say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dml import losses
from dml.report.results import Results
from dml.report.texts import Texts

say = Texts(__file__)

ON_VALIDATION = say("on_validation")
ON_TEST = say("on_test")


def validation(results: Results, name: str) -> float:
    """A cell's validation score in percent; NaN if it has none on some class split."""
    rows = results.tuned_of(name)
    best = rows.loc[rows["status"] == "finished"].groupby("split")["objective"].max().dropna()
    return 100 * float(best.mean()) if len(best) == results.study.splits else math.nan


def validations(results: Results, names: Iterable[str]) -> dict[str, float] | None:
    """The validation scores by which one of these cells is chosen; None if they cannot choose.

    Methods in closed form are never chosen: they have nothing to tune, and training is judged against them.
    """
    trained = [n for n in names if losses.closed_form_of(results.cells[n].loss.name) is None]
    return known({name: validation(results, name) for name in trained})


def known(found: Mapping[str, float]) -> dict[str, float] | None:
    """The scores if there are some and none is NaN."""
    return dict(found) if found and not any(map(math.isnan, found.values())) else None


def best_of(scores: Mapping[str, float]) -> str:
    """The first of the highest. Rounded, or the order of additions would decide between equal means."""
    return max(scores, key=lambda name: round(scores[name], 9))


def chosen_on_validation(results: Results, names: Iterable[str]) -> bool:
    """Whether validation classes choose among these cells; else test classes do."""
    return validations(results, [name for name in names if len(results.confirmed_of(name))]) is not None


def explained(results: Results, names: Iterable[str]) -> str:
    """Who chose among these cells, in a sentence."""
    return ON_VALIDATION if chosen_on_validation(results, names) else ON_TEST
