"""One trial of a sweep, before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dml.types import Cell, TrialSpec


@dataclass(frozen=True)
class Job:
    """One trial of one cell, identified by `(cell, split, phase, number)`. Jobs with the same key share one result."""

    id: str
    index: int  # of the cell's state in the plan
    cell: Cell
    phase: str
    number: int
    seed: int
    settings: Mapping[str, Any]
    spec: TrialSpec
    key: str
    until: int | None = None  # steps after which it pauses; None: it trains to its end
    split: int = 0  # the class split

    @property
    def cell_name(self) -> str:
        """The cell's name, and its class split unless that is the first."""
        return split_name(self.cell, self.split)


def split_name(cell: Cell, split: int) -> str:
    """A cell's name on one of its class splits, `<name>|split-2`; only the name for the first."""
    return f"{cell.name}|split-{split}" if split else cell.name
