"""The effect of each choice, pooled over all else, with seeds as blocks.

For each seed, the effect of a level is the mean over all cells with it minus the mean over all cells of the factorial.
Its interval is Student's t over seeds: seeds that are good or bad for all cells cancel out. Class splits take the place
of seeds where there are several, with the corrected variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dml import statistics
from dml.report.analysis.factorial import Crossed


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
