"""A cell's search: the spaces of its loss and of the study's `training.search`, and the strategy that the study names.

The range of the rate of a loss's own parameters may be `own`: the loss states it, or is without such parameters.
"""

from __future__ import annotations

from dml import losses
from dml.config import Study, stops_at_best
from dml.sweep.plan.strategies import Fixed, Grid, Strategy, Tpe
from dml.types import Cell, Space, StatedSpace


def space_of(study: Study, cell: Cell) -> dict[str, Space]:
    """The searched settings of a cell, by name; empty if nothing is searched."""
    if study.search.sampler == "fixed" or losses.closed_form_of(cell.loss.name) is not None:
        return {}
    rooms = {"loss": cell.loss.search, "training": study.training.search}
    named = {f"{room}.{key}": space for room, search in rooms.items() for key, space in sorted(search.items())}
    rate = losses.parameter_rate_of(cell.loss.name, cell.loss.settings)
    spaces = {name: rate if isinstance(space, StatedSpace) else space for name, space in named.items()}
    return {name: space for name, space in spaces.items() if space is not None and name not in cell.grid_point}


def strategy_of(study: Study, cell: Cell, split: int = 0) -> Strategy | None:
    """The strategy that tunes a cell; None if nothing does: a closed form, or no curve that says when to stop."""
    search, spaces = study.search, space_of(study, cell)
    if losses.closed_form_of(cell.loss.name) is not None:
        return None
    if not spaces:
        return Fixed() if stops_at_best(search, "tune") else None
    if search.sampler == "grid":
        return Grid(spaces, search.trials)
    return Tpe(search, spaces, f"{cell.name}|split-{split}" if split else cell.name)


def tuning_trials(study: Study, cell: Cell) -> int:
    """How many trials tune a cell."""
    strategy = strategy_of(study, cell)
    return 0 if strategy is None else strategy.trials
