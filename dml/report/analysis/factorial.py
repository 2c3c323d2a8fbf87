"""A study's complete factorial: every loss with every choice of positives and negatives, at every noise rate and seed.

Effects of one choice are only comparable if all else is equal. So cells are left out until every level of an axis meets
every level of the others: the level with the largest share of missing cells goes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dml.report.labels import is_topline
from dml.report.memo import once
from dml.report.results import Results
from dml.types import value_text

CHOICES = ("loss", "positives", "negatives")
RATE = "rate"
Point = tuple[str, ...]


@dataclass(frozen=True)
class Crossed:
    """The factorial of one dataset and noise model."""

    dataset: str
    noise: str
    levels: Mapping[str, tuple[str, ...]]  # by axis: `CHOICES`, then settings that vary
    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    scores: np.ndarray  # in percent, (levels of each axis, ..., R rates, S seeds)
    left_out: tuple[str, ...] = ()  # `loss softmax`: levels that do not meet all others
    overlap: float = 0.0  # `Results.overlap`, where the S blocks are class splits

    @property
    def axes(self) -> list[str]:
        """The axes with at least two levels, in the order of `levels`."""
        return [axis for axis, levels in self.levels.items() if len(levels) > 1]

    def at(self, rate: float) -> np.ndarray:
        """The scores at one noise rate, (levels of each axis, ..., S)."""
        return self.scores[..., self.rates.index(rate), :]


@once
def crossed(results: Results) -> list[Crossed]:
    """The factorials of a study in which at least two of `CHOICES` have two levels; without toplines."""
    pairs = [pair for pair in results.conditions if not is_topline(pair[1])]
    found = [factorial(results, *pair, results.objective(pair[0])) for pair in pairs]
    return [each for each in found if each is not None]


def complete(points: Sequence[Point], number: int) -> tuple[list[list[str]], list[tuple[int, str]]]:
    """The levels of each axis whose product is among the points, and the (axis, level) pairs that were left out.

    Parameters
    ----------
    number : of axes, the length of a point.
    """
    left_out: list[tuple[int, str]] = []
    kept = list(dict.fromkeys(points))
    while True:
        levels = [list(dict.fromkeys(point[axis] for point in kept)) for axis in range(number)]
        if len(kept) == int(np.prod([len(own) for own in levels])):
            return levels, left_out
        sizes = [len(own) for own in levels]
        share = {
            (axis, level): sum(point[axis] == level for point in kept) * sizes[axis] / np.prod(sizes)
            for axis in range(number)
            for level in levels[axis]
        }
        axis, level = min(share, key=lambda place: share[place])
        left_out.append((axis, level))
        kept = [point for point in kept if point[axis] != level]


def factorial(results: Results, dataset: str, noise: str, key: str) -> Crossed | None:
    """One dataset and noise model by the score `key`; None unless two of `CHOICES` have two levels."""
    axes = [*CHOICES, *results.varied]
    cells: dict[Point, str] = {}
    for name in results.cells_of(dataset, noise):
        cell, method = results.cells[name], results.methods[name]
        if method.positives and len(results.values(name, key)):
            varied = (value_text(cell.grid_point.get(setting, "")) for setting in results.varied)
            cells[(method.loss, method.positives, method.negatives, *varied, repr(cell.rate))] = name
    if not cells:
        return None
    levels, left_out = complete(list(cells), len(axes) + 1)
    if sum(len(levels[axis]) > 1 for axis in range(len(CHOICES))) < 2:
        return None
    rates = sorted(levels.pop(), key=float)
    values = [results.values(cells[point], key) for point in product(*levels, rates)]
    seeds = [seed for seed in results.study.blocks if all(seed in own.index for own in values)]
    if not seeds:
        return None
    scores = np.array([own.loc[seeds].to_numpy() for own in values])
    names = [*axes, "noise rate"]
    return Crossed(
        dataset,
        noise,
        {axis: tuple(own) for axis, own in zip(axes, levels, strict=True)},
        tuple(float(rate) for rate in rates),
        tuple(seeds),
        scores.reshape(*(len(own) for own in levels), len(rates), len(seeds)),
        tuple(f"{names[axis]} {level}" for axis, level in left_out),
        results.overlap,
    )
