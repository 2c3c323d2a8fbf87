"""Which cells a claim compares: lines of cells in each of its sets, and the pairs of lines.

A line is one cell (`compare`), or cells that differ only in the setting of a slope, or in the noise rate of a break
point. Two lines are a pair if they are equal in all attributes that neither set names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dml import discovery
from dml.config.claims import BreakPointSection, ClaimSection, SlopeSection
from dml.config.matching import attribute, identity, matching, rest
from dml.types import Cell, noise_model

Line = tuple[Cell, ...]


@dataclass(frozen=True)
class Pair:
    """What one effect is computed from."""

    first: Line
    second: Line  # (): the slope of one set
    each: Mapping[str, Any]  # the values of the claim's `each`


def without_toplines(cells: Iterable[Cell], *named: Mapping[str, Any]) -> list[Cell]:
    """The cells that train on the labels of their noise model; all cells if `noise` is among the named attributes.

    A topline leaves out what others mislabel, so it would dilute a comparison at that noise rate.
    """
    if any("noise" in keys for keys in named):
        return list(cells)
    return [cell for cell in cells if not discovery.find("dml.noise", noise_model(cell.noise)).topline]  # type: ignore[attr-defined]


def pairs(claim: ClaimSection, cells: Sequence[Cell]) -> list[Pair]:
    """The pairs of lines behind a claim; for the slope of one set, its lines. Empty if nothing can be paired."""
    sets = [matching(without_toplines(cells, match), match) for _, match in claim.sets()]
    along = _along(claim, [cell for found in sets for cell in found])
    lines = [_lines(found, along) for found in sets]
    if len(lines) == 1:
        return [Pair(line, (), _each(claim, line)) for line in lines[0]]
    left_out = claim.differing() | along
    keyed = [[(identity(rest(line[0], left_out)), line) for line in found] for found in lines]
    return [Pair(a, b, _each(claim, a)) for (one, a), (other, b) in product(*keyed) if one == other]


def _along(claim: ClaimSection, cells: Sequence[Cell]) -> set[str]:
    """What changes along a line. A setting with one value for each value of a slope's setting moves with it."""
    if isinstance(claim.test, BreakPointSection):
        return {"rate"}
    if not isinstance(claim.test, SlopeSection):
        return set()
    over = claim.test.over
    found = {over}
    for key in {key for cell in cells for key in cell.grid_point} - {over}:
        values: dict[str, set[str]] = {}
        for cell in cells:
            values.setdefault(repr(attribute(cell, over)), set()).add(repr(attribute(cell, key)))
        if all(len(own) == 1 for own in values.values()):
            found.add(key)
    return found


def _lines(cells: Sequence[Cell], along: set[str]) -> list[Line]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(identity(rest(cell, along)), []).append(cell)
    return [tuple(line) for line in found.values()]


def _each(claim: ClaimSection, line: Line) -> dict[str, Any]:
    return {key: attribute(line[0], key) for key in claim.each}
