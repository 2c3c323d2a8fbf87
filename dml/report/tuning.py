"""Whether a study's comparisons are tuned, by its configuration.

A learning rate that suits one method and not another can reverse a comparison (docs/LOG.md, 2026-11-23), so
comparisons at one rate say so.
"""

from __future__ import annotations

from dml.config import Study

NOT_TUNED, RATE_NOT_TUNED = "not tuned", "rate not tuned"
RATES = ("learning_rate", "head_learning_rate")  # settings of training that are a method's learning rate
DOUBT = "Another rate can reverse such a comparison, so it does not decide which method is better."
EXPLAINED = {
    "": "",
    NOT_TUNED: f"Not tuned: each method has one setting, and all have one learning rate. {DOUBT}",
    RATE_NOT_TUNED: f"Rate not tuned: other settings were searched, at one learning rate for all methods. {DOUBT}",
}
"""What each mark means; empty for a study whose rate is tuned."""
IN_SHORT = (
    "Not tuned: each method has one setting, and all have one learning rate (rate not tuned: other settings were "
    f"searched). {DOUBT}"
)


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


def marked(text: str, tuning: str) -> str:
    """`joint-cars (not tuned)`; the text itself without a mark."""
    return f"{text} ({tuning})" if tuning else text


def after_comma(tuning: str) -> str:
    """`, not tuned`; nothing without a mark."""
    return f", {tuning}" if tuning else ""
