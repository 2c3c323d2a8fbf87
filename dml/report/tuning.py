"""How pages say that a study's comparisons are not tuned (`dml.config.tuning`)."""

from __future__ import annotations

from dml.config.tuning import NOT_TUNED, RATE_NOT_TUNED, mark

__all__ = ["EXPLAINED", "IN_SHORT", "NOT_TUNED", "RATE_NOT_TUNED", "after_comma", "mark", "marked"]

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


def marked(text: str, tuning: str) -> str:
    """`joint-cars (not tuned)`; the text itself without a mark."""
    return f"{text} ({tuning})" if tuning else text


def after_comma(tuning: str) -> str:
    """`, not tuned`; nothing without a mark."""
    return f", {tuning}" if tuning else ""
