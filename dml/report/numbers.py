"""How numbers are written. A value that is missing is an en dash."""

from __future__ import annotations

import math
from typing import Any

from dml.statistics import Summary

NOTHING = "\N{EN DASH}"
SHARES = {0.1: "a tenth", 0.2: "a fifth", 0.25: "a quarter", 0.5: "half"}


def percent(value: float | None, signed: bool = False) -> str:
    """One decimal and a true minus sign: `62.6`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    text = f"{value:+.1f}" if signed else f"{value:.1f}"
    return {"-0.0": "0.0", "+0.0": "0.0"}.get(text, text).replace("-", "\N{MINUS SIGN}")


def rate(value: float) -> str:
    """A share as a percentage: `0.2` -> `20%`, `0.125` -> `12.5%`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    for digits in (0, 1, 2, 4):
        text = f"{100 * value:.{digits}f}"
        if abs(float(text) - 100 * value) < 1e-9:
            return f"{text}%"
    return f"{100 * value:.1f}%"


def made_wrong(value: float) -> str:
    """What labels that may be wrong themselves are at a noise rate: `as given, with a fifth more made wrong`."""
    return f"as given, with {SHARES.get(value, rate(value))} more made wrong" if value else "as given"


def duration(seconds: float) -> str:
    """`75` -> `1 min 15 s`; `8040` -> `2 h 14 min`."""
    if not math.isfinite(seconds):
        return NOTHING
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def number(value: Any) -> str:
    """Four significant figures, or a whole number with separators; any other value as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOTHING if value is None else str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return NOTHING
    whole = value == int(value) or abs(value) >= 1000
    return f"{value:,.0f}" if whole and abs(value) < 1e9 else f"{value:.4g}"


def p_value(value: float) -> str:
    """`0.032`, `< 0.001`."""
    if not math.isfinite(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval(middle: str, low: str, high: str) -> str:
    """`+3.1 [+1.2, +5.0]`; only the middle if the ends are missing."""
    return middle if NOTHING in (low, high) else f"{middle} [{low}, {high}]"


def points(s: Summary) -> str:
    """A difference in points with its interval: `+2.1 [+1.0, +3.2]`."""
    return interval(*(percent(value, signed=True) for value in (s.mean, s.low, s.high)))
