"""A part's settings: shown, and checked with a ValueError that names the setting, what was expected, and what came."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Any


class Shown:
    """Shows the settings that a part was built with: `Triplet(margin=0.3, distance='euclidean')`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = _noting(cls.__init__)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        settings = vars(self).get("_given", {})
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"


def _noting(init: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(init)

    @wraps(init)
    def noting(self: object, *args: Any, **settings: Any) -> None:
        outermost = vars(self).setdefault("_given", settings) is settings  # bases are built inside
        init(self, *args, **settings)
        if outermost:
            bound = signature.bind(self, *args, **settings)
            bound.apply_defaults()
            vars(self)["_given"] = dict(list(bound.arguments.items())[1:])

    return noting


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
