"""What trials log besides their scores, block by block, as claims compare it: `diagnostics/<name>`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from dml.miners.skew import eta
from dml.report.results import Results, parsed

LOGGED = "diagnostics/"


def is_logged(key: str) -> bool:
    """Whether a key names a number that trials log, not a score."""
    return key.startswith(LOGGED)


def logged(results: Results, name: str, key: str) -> pd.Series:
    """A cell's logged numbers by block, as `Results.values`: shares in percent, all others as they are."""
    quantity = key.removeprefix(LOGGED)
    rows = results.confirmed_of(name)
    values = [_number(parsed(text) or {}, quantity) for text in rows["diagnostics"]]
    blocks = rows["split" if results.study.splits > 1 else "seed"].to_numpy()
    return pd.Series(values, index=blocks, dtype=float).dropna().groupby(level=0).mean()


def unit(key: str) -> str:
    """In what a logged number is measured."""
    quantity = key.removeprefix(LOGGED)
    return "points" if quantity.endswith("_share") else quantity.replace("_", " ")


def _number(diagnostics: dict[str, Any], quantity: str) -> float:
    if quantity == "eta":
        return _eta(diagnostics.get("eta_drawn", ()), diagnostics.get("eta_uniform", ()))
    value = float(diagnostics.get(quantity, math.nan))
    return 100 * value if quantity.endswith("_share") else value


def _eta(drawn: list[float], uniform: list[float]) -> float:
    """The skew of one trial's negatives; NaN if it counted too few."""
    try:
        return eta.estimate(np.array(drawn, float), np.array(uniform, float)).eta
    except ValueError:
        return math.nan
