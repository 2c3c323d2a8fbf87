"""A cell's search space, in the terms of `dml.types`, and the grid over it.

A setting is named `loss.<setting>`, `miner.<setting>`, `filter.<setting>` or `training.<setting>`. A cell's space
combines those of its loss, its miner, its filter and the study's `training.search`, in which the rate of a loss's own
parameters may be `own`: the loss states its range, and a loss without such parameters does not search it.

In the grid, a `Choice` takes all its options. A real setting takes L equally spaced values, both ends included
(`LogUniform`: equally spaced logarithms), or its middle for L = 1. L is the largest number for which all combinations
fit the budget. If the options exceed the budget even for L = 1, evenly spaced combinations are taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dml import losses
from dml.config import SearchSection, Study, stops_at_best
from dml.types import Cell, Choice, LogUniform, Own, Space


def space_of(study: Study, cell: Cell) -> dict[str, Space]:
    """The searched settings of a cell, by name; empty if nothing is searched."""
    if study.search.sampler == "fixed" or losses.closed_form_of(cell.loss.name) is not None:
        return {}
    miner = cell.miner.search if cell.miner is not None else study.miner.search if cell.positives else {}
    rooms = {"loss": cell.loss.search, "miner": miner, "training": study.training.search}
    rooms |= {} if cell.filter is None else {"filter": cell.filter.search}
    named = {f"{room}.{key}": space for room, own in rooms.items() for key, space in sorted(own.items())}
    rate = losses.own_rate_of(cell.loss.name, cell.loss.settings)
    found = {name: rate if isinstance(space, Own) else space for name, space in named.items()}
    return {name: space for name, space in found.items() if space is not None and name not in cell.grid_point}


def tuning_trials(study: Study, cell: Cell) -> int:
    """How many trials tune a cell; none if it is a method in closed form."""
    return 0 if losses.closed_form_of(cell.loss.name) is not None else budget(study.search, space_of(study, cell))


def budget(search: SearchSection, spaces: Mapping[str, Space]) -> int:
    """How many trials tune a cell with these searched settings. Without any, one trial may still say when to stop."""
    if not spaces:
        return 1 if stops_at_best(search, "tune") else 0
    return len(grid(spaces, search.trials)) if search.sampler == "grid" else search.trials


def grid(spaces: Mapping[str, Space], budget: int) -> list[dict[str, Any]]:
    """At most `budget` points of the grid, in a fixed order. The module describes the grid."""
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
