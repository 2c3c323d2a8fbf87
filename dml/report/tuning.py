"""How pages say that a study's comparisons are not tuned (`dml.config.tuning`)."""

from __future__ import annotations

from dml.config.tuning import NOT_TUNED, RATE_NOT_TUNED, mark
from dml.report.texts import Texts, joined

say = Texts(__file__)

__all__ = ["EXPLAINED", "IN_SHORT", "NOT_TUNED", "RATE_NOT_TUNED", "after_comma", "mark"]

EXPLAINED = {
    "": "",
    NOT_TUNED: joined(say("not_tuned"), say("doubt")),
    RATE_NOT_TUNED: joined(say("rate_not_tuned"), say("doubt")),
}
"""What each mark means; empty for a study whose rate is tuned."""
IN_SHORT = joined(say("in_short"), say("doubt"))


def after_comma(tuning: str) -> str:
    """`, not tuned`; nothing without a mark."""
    return f", {tuning}" if tuning else ""
