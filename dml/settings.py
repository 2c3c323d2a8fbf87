"""Checks of a part's settings: each raises a ValueError that names the setting, what was expected, and what came."""

from __future__ import annotations

import math
from numbers import Integral, Real


def check_choice(setting: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{setting}: expected one of {', '.join(choices)}; got {value!r}")


def check_at_least(setting: str, value: float, low: float) -> None:
    """Raise a ValueError unless `value` is a finite number and `value >= low`."""
    if not _is_finite(value) or value < low:
        raise ValueError(f"{setting}: expected a number >= {low:g}; got {value!r}")


def check_above(setting: str, value: float, low: float) -> None:
    """Raise a ValueError unless `value` is a finite number and `value > low`."""
    if not _is_finite(value) or value <= low:
        raise ValueError(f"{setting}: expected a number > {low:g}; got {value!r}")


def check_within(setting: str, value: float, low: float, high: float) -> None:
    """Raise a ValueError unless `value` is a number and `low <= value <= high` (NaN raises too)."""
    if not isinstance(value, Real) or not low <= value <= high:
        raise ValueError(f"{setting}: expected a number from {low:g} to {high:g}; got {value!r}")


def check_count(setting: str, value: object, low: int = 1) -> int:
    """`value` as an int. Raise a ValueError unless it is a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ValueError(f"{setting}: expected a whole number, at least {low}; got {value!r}")
    return int(value)


def check_number(setting: str, value: float) -> None:
    """Raise a ValueError unless `value` is a finite number."""
    if not _is_finite(value):
        raise ValueError(f"{setting}: expected a number; got {value!r}")


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
