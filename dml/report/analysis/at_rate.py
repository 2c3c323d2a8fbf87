"""Scores of methods at a noise rate that a study may not have measured.

Between two measured rates each seed's score is interpolated linearly, so methods are compared there as at measured
rates, paired over seeds. Beyond the measured rates the nearest one counts: nothing is extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from dml.report.analysis.validation_choice import validations
from dml.report.results import Results

SAME = 1e-6  # rates that differ by less are one
Mix = Mapping[str, float]  # names of cells, and how much each counts; the shares sum to 1


def mixed(results: Results, mix: Mix, key: str) -> pd.Series:
    """A method's scores in percent by block (`Results.values`), of the blocks that all cells of its mix have."""
    own = [results.values(name, key) for name in mix]
    if len(own) == 1:
        return own[0]
    return (pd.concat(own, axis=1, join="inner") * list(mix.values())).sum(axis=1)


def measured(results: Results, dataset: str, noise: str, key: str) -> list[float]:
    """The noise rates, ascending, at which some method has a score."""
    cells = {rate: results.cells_of(dataset, noise, rate) for rate in results.rates(dataset, noise)}
    return [rate for rate, names in cells.items() if any(len(results.values(name, key)) for name in names)]


def shares(rates: Sequence[float], rate: float) -> dict[float, float]:
    """How much each measured rate counts at `rate`: one or two of them, the nearest first. The shares sum to 1.

    Half-way between two rates, the higher one is first.
    """
    nearest = min(rates, key=lambda own: (round(abs(own - rate), 9), -own))
    below, above = [own for own in rates if own < rate], [own for own in rates if own > rate]
    if math.isclose(nearest, rate, abs_tol=SAME) or not below or not above:
        return {nearest: 1.0}
    low, high = max(below), min(above)
    share = (rate - low) / (high - low)
    found = {low: 1 - share, high: share}
    return {own: found[own] for own in sorted(found, key=lambda own: own != nearest)}


def mixes_at(results: Results, dataset: str, noise: str, counting: Mapping[float, float], key: str) -> dict[str, Mix]:
    """The cells of each method at the rates that count, under the name of its cell at the first of them.

    Methods without a seed that all of these rates have are left out; `methods_at` says which compete.

    Parameters
    ----------
    counting : as `shares` returns them.
    key : of the score.
    """
    found: dict[str, Mix] = {}
    for name in methods_at(results, dataset, noise, counting):
        own = results.cells_by_method[dataset, results.methods[name]]
        mix = {own[noise, rate]: share for rate, share in counting.items() if (noise, rate) in own}
        if len(mix) == len(counting) and len(mixed(results, mix, key)):
            found[name] = mix
    return found


def methods_at(results: Results, dataset: str, noise: str, counting: Mapping[float, float]) -> list[str]:
    """The cells that compete at the first of the rates that count; at a measured rate the report's (`rivals`)."""
    nearest = next(iter(counting))
    names = results.rivals if len(counting) == 1 else results.cells_of
    return names(dataset, noise, nearest)


def validations_at(
    results: Results, dataset: str, noise: str, counting: Mapping[float, float], names: Sequence[str]
) -> dict[str, float] | None:
    """The validation scores that choose among the cells of `mixes_at`, interpolated alike; None: none can."""
    found = dict.fromkeys(names, 0.0)
    for rate, share in counting.items():
        there = {name: results.cells_by_method[dataset, results.methods[name]][noise, rate] for name in names}
        own = validations(results, there.values())
        if own is None:
            return None
        found = {name: found[name] + share * own[cell] for name, cell in there.items() if cell in own and name in found}
    return found
