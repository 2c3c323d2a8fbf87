"""Which cells a mapping of attributes names, as in `reference_values.match`, in `compare` and in claims.

Attributes are `ATTRIBUTES`, `loss.<setting>` and the dotted settings of `grid`; if any cell has a filter, also `filter`
(`none`, `prism`, `prism(rate=0.2)`, or `prism(rate=true)` if it is told the rate) and `filter.<setting>`. A list of
values means any of them.
Null means that a cell has no such attribute, or that the study leaves the part its default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dml.config.names import written_setting
from dml.config.parts import filter_text
from dml.discovery import suggestion
from dml.types import Cell

ATTRIBUTES = ("dataset", "noise", "rate", "loss", "positives", "negatives", "miner")


def attribute(cell: Cell, key: str) -> Any:
    """A cell's value of an attribute; None if it has none."""
    if key in cell.grid_point:
        return cell.grid_point[key]
    head, _, setting = key.partition(".")
    if key == "loss":
        return cell.loss.name
    if head == "loss":
        return cell.loss.settings.get(setting)
    if key == "filter":
        return filter_text(cell.filter)
    if head == "filter":
        return None if cell.filter is None else cell.filter.settings.get(setting)
    if key == "miner":
        return None if cell.miner is None else cell.miner.name
    return getattr(cell, key) if key in ATTRIBUTES else None


def known(cells: Iterable[Cell]) -> list[str]:
    """The attributes that a study may name for these cells."""
    found = dict.fromkeys(ATTRIBUTES)
    for cell in cells:
        found |= dict.fromkeys([*(f"loss.{name}" for name in cell.loss.settings), *cell.grid_point])
        if cell.filter is not None:
            found |= dict.fromkeys(["filter", *(f"filter.{name}" for name in cell.filter.settings)])
    return list(found)


def matching(cells: Iterable[Cell], wanted: Mapping[str, Any]) -> list[Cell]:
    """The cells that have all wanted values, in their order."""
    return [cell for cell in cells if all(_is(attribute(cell, key), value) for key, value in wanted.items())]


def check_attributes(cells: Sequence[Cell], keys: Iterable[str]) -> None:
    """Raise ValueError, with the choices, for an attribute that no cell has."""
    choices = known(cells)
    for key in keys:
        if key not in choices:
            name, names = written_setting(key), map(written_setting, choices)
            raise ValueError(f"unknown attribute {name!r} of a cell{suggestion(name, names)}")


def check_matching(cells: Sequence[Cell], wanted: Mapping[str, Any]) -> list[Cell]:
    """The cells that have all wanted values.

    Raises
    ------
    ValueError : an unknown attribute, a value that no cell has, or no cell with all of them; with the choices.
    """
    check_attributes(cells, wanted)
    for key, value in wanted.items():
        values = list({repr(found): found for found in (attribute(cell, key) for cell in cells)}.values())
        for one in [value] if not isinstance(value, list) or value in values else value:
            if one not in values:
                choices = ", ".join(map(_text, values))
                raise ValueError(f"no cell of this study has {written_setting(key)} {_text(one)}. Choices: {choices}")
    found = matching(cells, wanted)
    if not found:
        pairs = ", ".join(f"{written_setting(key)} {_text(value)}" for key, value in wanted.items())
        raise ValueError(f"no cell of this study has all of: {pairs}")
    return found


def rest(cell: Cell, without: Iterable[str] = ()) -> dict[str, Any]:
    """All attributes of a cell but some. Without `loss` or `filter`, its settings are left out too."""
    left_out = set(without)
    keys = known([cell])
    for part in {"loss", "filter"} & left_out:
        keys = [key for key in keys if not key.startswith(f"{part}.")]
    return {key: attribute(cell, key) for key in keys if key not in left_out}


def identity(attributes: Mapping[str, Any]) -> str:
    """Attributes as a text that is equal if they are. A value of None equals none."""
    return repr(sorted((key, repr(value)) for key, value in attributes.items() if value is not None))


def _is(found: Any, wanted: Any) -> bool:
    return found == wanted or (isinstance(wanted, list) and found in wanted)


def _text(value: Any) -> str:
    return "null" if value is None else repr(value)
