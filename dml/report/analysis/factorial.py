"""A study's complete factorial: every loss with every choice of positives and negatives, at every noise rate and seed.

Effects of one choice are only comparable if all else is equal. So cells are left out until every level of an axis meets
every level of the others: the level with the largest share of missing cells goes first.

The effect of each choice, pooled over all else, with seeds as blocks.

For each seed, the effect of a level is the mean over all cells with it minus the mean over all cells of the factorial.
Its interval is Student's t over seeds: seeds that are good or bad for all cells cancel out. Class splits take the place
of seeds where there are several, with the corrected variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dml import statistics
from dml.report.labels import is_topline
from dml.report.results import Results, once
from dml.types import value_text

CHOICES = ("loss", "positives", "negatives")
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


@dataclass(frozen=True)
class Effect:
    """The effect of one level of an axis at one noise rate, in points."""

    axis: str
    level: str
    rate: float
    summary: statistics.Summary
    p: float  # two-sided, by Student's t; NaN with one seed
    holm: float = float("nan")  # corrected for all questions of the factorial


def effects_at(block: Crossed, axis: str, rate: float) -> np.ndarray:
    """(levels, S): of each level of an axis, at each seed; they add up to 0."""
    scores = block.at(rate)
    place = list(block.levels).index(axis)
    others = tuple(i for i in range(scores.ndim - 1) if i != place)
    means = scores.mean(axis=others)
    return means - means.mean(axis=0)


def pooled_effects(block: Crossed) -> list[Effect]:
    """All effects of a factorial, by axis, rate and level; Holm's correction is over all of them.

    The two levels of an axis have opposite effects: these are one hypothesis.
    """
    found = list(_effects(block))
    if len(block.seeds) < 2:
        return found
    asked = [(e.axis, e.rate, "" if len(block.levels[e.axis]) == 2 else e.level) for e in found]
    p = dict(zip(asked, (e.p for e in found), strict=True))
    corrected = dict(zip(p, np.asarray(statistics.holm(list(p.values()))).tolist(), strict=True))
    return [replace(e, holm=corrected[question]) for e, question in zip(found, asked, strict=True)]


def _effects(block: Crossed) -> Iterator[Effect]:
    for axis in block.axes:
        for rate in block.rates:
            for level, values in zip(block.levels[axis], effects_at(block, axis, rate), strict=True):
                summary = statistics.summary(values, overlap=block.overlap)
                yield Effect(axis, level, rate, summary, statistics.paired_t(values, block.overlap))
