"""A method's scores at a noise rate: those of one cell, or of two cells whose rates are interpolated between."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from dml.report.results import Results

Mix = Mapping[str, float]  # names of cells, and how much each counts; the shares sum to 1


def mixed(results: Results, mix: Mix, key: str) -> pd.Series:
    """Scores in percent by block (`Results.values`), of the blocks that all cells have."""
    own = [results.values(name, key) for name in mix]
    if len(own) == 1:
        return own[0]
    return (pd.concat(own, axis=1, join="inner") * list(mix.values())).sum(axis=1)
