"""Where a search starts (`search.warm_start`): which cells' best settings a cell tries first.

A cell takes them from cells of the same loss under an earlier condition of the study: another dataset, noise model or
rate. It never takes them from a cell that it is compared with, so the methods of one condition have equal budgets. The
first condition of the study searches from scratch.
"""

from __future__ import annotations

from collections.abc import Sequence

from dml.config.errors import LocatedError
from dml.config.study import Study
from dml.types import Cell


def sources(cells: Sequence[Cell], count: int) -> list[list[int]]:
    """For each cell, the places of the `count` cells whose best settings it tries first, the nearest first.

    Nearest is the same dataset, then the same policies, filter and grid point, then the same noise model, then the
    nearest rate. A tie goes to the first in the study.
    """
    conditions = list(dict.fromkeys(_condition(cell) for cell in cells))
    order = [conditions.index(_condition(cell)) for cell in cells]

    def nearest(cell: Cell, place: int) -> list[int]:
        found = [
            other for other, own in enumerate(cells) if own.loss.name == cell.loss.name and order[other] < order[place]
        ]
        return sorted(found, key=lambda other: _distance(cell, cells[other]))[:count]

    return [nearest(cell, place) for place, cell in enumerate(cells)]


def check(study: Study) -> None:
    """Reject a search that cannot start from another.

    Raises
    ------
    LocatedError : with what was expected and what came.
    """
    search, count = study.search, study.search.warm_start
    if not count:
        return
    if search.sampler in ("fixed", "grid"):
        raise _error(
            f"expected search.sampler 'tpe' or 'random', whose trials can begin anywhere; got {search.sampler!r}"
        )
    if count >= search.trials:
        raise _error(f"expected less than search.trials ({search.trials}), which count these trials; got {count}")
    if not any(sources(study.cells(), count)):
        raise _error(
            "a cell starts from the best settings of its loss under an earlier condition: expected a loss with several "
            "datasets, noise models or rates"
        )


def _condition(cell: Cell) -> tuple[str, str, float]:
    return cell.dataset, cell.noise, cell.rate


def _distance(cell: Cell, other: Cell) -> tuple[bool, bool, bool, float]:
    methods = [(own.loss.text, own.positives, own.negatives, own.miner, own.further) for own in (cell, other)]
    return (
        other.dataset != cell.dataset,
        methods[0] != methods[1],
        other.noise != cell.noise,
        abs(other.rate - cell.rate),
    )


def _error(text: str) -> LocatedError:
    return LocatedError(text, "search", "warm_start")
