"""Search spaces: the small terms of `dml.types` joined for a cell, and as a grid.

A setting is named `loss.<setting>`, `miner.<setting>` or `training.<setting>`; a cell's space joins those of its loss,
its miner and the study's `training.search`.

The grid: a `Choice` keeps its options; a real setting takes L equally spaced values (equally spaced logarithms for
`LogUniform`), both ends included, its middle for L = 1. L is the largest number for which all combinations fit the
budget. Where the options alone exceed it, every n-th combination is taken, so that each cell stays within its budget.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dml.config import Study
from dml.types import Cell, Choice, LogUniform, Space


def space_of(study: Study, cell: Cell) -> dict[str, Space]:
    """The settings that a cell's search chooses, by name. Empty where nothing is searched."""
    if study.search.sampler == "fixed":
        return {}
    miner = cell.miner.search if cell.miner is not None else study.miner.search if cell.positives else {}
    rooms = {"loss": cell.loss.search, "miner": miner, "training": study.training.search}
    return {f"{room}.{key}": space for room, own in rooms.items() for key, space in sorted(own.items())}


def grid(spaces: Mapping[str, Space], budget: int) -> list[dict[str, Any]]:
    """At most `budget` settings on the grid that the module describes, in a fixed order."""
    real = [name for name, space in spaces.items() if not isinstance(space, Choice)]
    options = math.prod(len(space.options) for space in spaces.values() if isinstance(space, Choice))
    levels = 1
    while real and options * (levels + 1) ** len(real) <= budget:
        levels += 1
    values = [_values(space, levels) for space in spaces.values()]
    points = [dict(zip(spaces, point, strict=True)) for point in itertools.product(*values)]
    chosen = np.linspace(0, len(points) - 1, min(budget, len(points))).round().astype(int)
    return [points[i] for i in chosen]


def _values(space: Space, levels: int) -> list[Any]:
    if isinstance(space, Choice):
        return list(space.options)
    low, high = (
        (math.log(space.low), math.log(space.high)) if isinstance(space, LogUniform) else (space.low, space.high)
    )
    points = np.linspace(low, high, levels) if levels > 1 else np.array([(low + high) / 2])
    values = np.exp(points) if isinstance(space, LogUniform) else points
    return [float(v) for v in np.clip(values, space.low, space.high)]
