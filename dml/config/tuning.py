"""Whether a study's comparisons are tuned, by its configuration, and with what budget.

A learning rate that suits one method and not another can reverse a comparison (docs/LOG.md, 2026-11-23), so
comparisons at one rate say so wherever they are shown: on pages, in recipes, in MLflow and by `dml check`.
"""

from __future__ import annotations

import dml
from dml.config.recipes import RATES
from dml.config.study import Study
from dml.counting import counted

NOT_TUNED, RATE_NOT_TUNED = "not tuned", "rate not tuned"


def mark(study: Study) -> str:
    """The mark of the study's comparisons: `not tuned`, `rate not tuned`, or nothing.

    A rate is tuned if it is searched, or if it is an axis of the study: then each rate is a method of its own.
    """
    rates = {f"training.{rate}" for rate in RATES}
    if any(rates.issuperset(settings) for values in study.axes.values() for settings in values):
        return ""
    if study.search.sampler == "fixed":
        return NOT_TUNED
    return "" if any(rate in study.training.search for rate in RATES) else RATE_NOT_TUNED


def one_search(study: Study) -> str:
    """What intervals of a tuned study with one class split are of; empty if it is not such a study."""
    searched = study.search.sampler != "fixed" and any(
        not dml.losses.closed_form_of(loss.name) for loss in study.losses
    )
    if not searched or study.splits > 1:
        return ""
    return "one class split; the part of a search is estimated from its trials (class_splits repeats both)"


def budget_text(study: Study) -> str:
    """What tunes each cell: `8 trials for each cell (tpe), which stops at its best step`; and the mark, if any."""
    search = study.search
    if search.sampler == "fixed":
        return f"{NOT_TUNED}: each cell has one setting" if mark(study) else "one setting for each cell"
    text = f"{counted(search.trials, 'trial')} for each cell ({search.sampler})"
    text += ", which stops at its best step" if search.stop == "best" else ""
    return f"{mark(study)}: {text}" if mark(study) else text
