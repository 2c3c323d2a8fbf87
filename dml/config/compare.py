"""The section `compare`, and which cells a mapping of attributes names.

Attributes are `ATTRIBUTES`, `loss.<setting>`, `filter`, `filter.<setting>` and the dotted settings of `grid`. A list
means any of its values; null means that a cell has no such attribute, or the part's default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Literal

from pydantic import Field

from dml import discovery
from dml.config.errors import LocatedError, setting, written_setting
from dml.config.parts import filter_text
from dml.config.terms import StudySection
from dml.discovery import suggestion
from dml.types import Cell, ScoreKey, noise_model

ATTRIBUTES = ("dataset", "noise", "rate", "loss", "positives", "negatives", "miner")


def attributes(cell: Cell) -> dict[str, Any]:
    """A cell's values by the names of their attributes."""
    values = {key: getattr(cell, key) for key in ATTRIBUTES}
    values |= {"loss": cell.loss.name, "miner": None if cell.miner is None else cell.miner.name}
    values |= {**{f"loss.{key}": value for key, value in cell.loss.settings.items()}, **cell.grid_point}
    if cell.filter is not None:
        values["filter"] = filter_text(cell.filter)
        values |= {f"filter.{key}": value for key, value in cell.filter.settings.items()}
    return values


def attribute(cell: Cell, key: str) -> Any:
    """A cell's value of an attribute; None if it has none."""
    return attributes(cell).get(key, filter_text(None) if key == "filter" else None)


def matching(cells: Iterable[Cell], match: Mapping[str, Any]) -> list[Cell]:
    """The cells that have all wanted values, in their order."""
    choices = {key: [value, *value] if isinstance(value, list) else [value] for key, value in match.items()}
    return [cell for cell in cells if all(attribute(cell, key) in values for key, values in choices.items())]


def check_attributes(cells: Sequence[Cell], keys: Iterable[str]) -> None:
    """Raise ValueError, with the choices, for an attribute that no cell has."""
    choices = list(dict.fromkeys([*ATTRIBUTES, *(name for cell in cells for name in attributes(cell))]))
    for key in keys:
        if key not in choices:
            name, names = written_setting(key), map(written_setting, choices)
            raise ValueError(f"unknown attribute {name!r} of a cell{suggestion(name, names)}")


def check_matching(cells: Sequence[Cell], match: Mapping[str, Any]) -> list[Cell]:
    """The cells that have all wanted values."""
    check_attributes(cells, match)
    for key, value in match.items():
        values = list({repr(present): present for present in (attribute(cell, key) for cell in cells)}.values())
        for one in [value] if not isinstance(value, list) or value in values else value:
            if one not in values:
                choices = ", ".join(map(_text, values))
                raise ValueError(f"no cell of this study has {written_setting(key)} {_text(one)}. Choices: {choices}")
    if not (selected := matching(cells, match)):
        pairs = ", ".join(f"{written_setting(key)} {_text(value)}" for key, value in match.items())
        raise ValueError(f"no cell of this study has all of: {pairs}")
    return selected


def rest(cell: Cell, without: Iterable[str] = ()) -> dict[str, Any]:
    """All attributes of a cell but some. Without `loss` or `filter`, its settings are left out too."""
    left_out = set(without)
    inside = tuple(f"{part}." for part in {"loss", "filter"} & left_out)
    return {key: value for key, value in attributes(cell).items() if key not in left_out and not key.startswith(inside)}


def identity(attributes: Mapping[str, Any]) -> str:
    """Attributes as a text that is equal if they are. A value of None equals none."""
    return repr(sorted((key, repr(value)) for key, value in attributes.items() if value is not None))


def _text(value: Any) -> str:
    return "null" if value is None else repr(value)


Match = Mapping[str, Any]
Line = tuple[Cell, ...]
"""One cell, or cells that differ only in the setting of a slope or in the noise rate."""


class ComparisonSection(StudySection):
    """Two sets of cells, paired by everything that neither names. The effect is the first minus the second."""

    text: str = Field("", description="what is expected, in words")
    first: dict[str, Any] = Field(min_length=1, description="attributes of one set")
    second: dict[str, Any] = Field(min_length=1, description="attributes of the other")
    where: dict[str, Any] = Field({}, description="attributes of all cells")
    score: str = Field("", description="`<set>/<level>/<metric>` or `<level>/<metric>`; none: the objective")
    direction: Literal["greater", "less"] = Field("greater", description="of the effect")


def check(study: Any) -> None:
    """Check a study's comparisons, and the attributes that its reference values name."""
    cells = study.cells() if study.reference_values or study.compare else []
    for number, entry in enumerate(study.reference_values):
        try:
            check_attributes(cells, entry.match)
        except ValueError as error:
            raise LocatedError(str(error), "reference_values", number, "match") from error
    for number, one in enumerate(study.compare):
        try:
            lines = pairs(cells, one.first, one.second, where=one.where)
            for dataset in dict.fromkeys(cell.dataset for first, _ in lines for cell in first):
                _at("score", score_key, study, dataset, one.score)
        except LocatedError as error:
            raise LocatedError(str(error), "compare", number, *error.location) from error


def score_key(study: Any, dataset: str, score: str = "") -> str:
    """The score key of a comparison's `score` for a dataset; without one, that of the study's objective."""
    if not score:
        return str(study.objective(dataset))
    evaluation = study.evaluation
    key = score if ScoreKey.is_spelt(score) else f"{evaluation.sets[0]}/{score}"
    levels = study.dataset(dataset).evaluate_on
    choices = [str(ScoreKey(*parts)) for parts in product(evaluation.sets, levels, study.evaluation.metrics)]
    if key not in choices:
        raise ValueError(f"score {score!r} is not evaluated on {dataset}{suggestion(key, choices)}")
    return key


def without_toplines(cells: Iterable[Cell], *named: Match) -> list[Cell]:
    """All cells if `noise` is named; else without toplines, which leave out what others mislabel."""
    if any("noise" in keys for keys in named):
        return list(cells)
    return [cell for cell in cells if not discovery.find("dml.noise", noise_model(cell.noise)).topline]  # type: ignore[attr-defined]


def pairs(
    cells: Sequence[Cell],
    first: Match,
    second: Match | None,
    where: Match | None = None,
    varying: str | None = None,
    each: Sequence[str] = (),
) -> list[tuple[Line, Line]]:
    """The lines of cells of two sets that are equal in all attributes that neither set names.

    `second`: None gives the lines of one set, beside empty ones. `where`: attributes of both sets. `varying`: the
    setting, or `rate`, in which the cells of a line differ. `each`: attributes that are equal in a pair, or of which
    `first` lists several values. Raises LocatedError: an unknown attribute, no cell, no pair, or shared cells.
    """
    where, first = _named(where or {}), _named(first)
    second, varying = None if second is None else _named(second), varying and setting(varying)
    each = [setting(key) for key in each]
    _at("where", check_matching, cells, where)
    matches = {"first": {**where, **first}} | ({} if second is None else {"second": {**where, **second}})
    sets = [_at(name, check_matching, without_toplines(cells, match), match) for name, match in matches.items()]
    used = [cell for selected in sets for cell in selected]
    along = _varying_together(used, varying) if varying else set()
    differing = along if second is None else {*first, *second, *along}
    _at("each", _check_each, used, each, differing - {key for key, value in first.items() if isinstance(value, list)})
    lines = [_lines(selected, along) for selected in sets]
    if second is None:
        return [(line, ()) for line in lines[0]]
    keyed = [[(identity(rest(line[0], differing)), line) for line in of_set] for of_set in lines]
    matched = [(a, b) for (one, a), (other, b) in product(*keyed) if one == other]
    if not matched:
        raise LocatedError(
            "no cell of `first` has a partner in `second` that is equal in all other attributes: name every attribute "
            "in which they differ in both"
        )
    if any({cell.name for cell in a} & {cell.name for cell in b} for a, b in matched):
        raise LocatedError("`first` and `second` share cells: name an attribute in which they differ")
    return matched


def _named(match: Match) -> Match:
    """Attributes as the code calls them, by what a file calls them."""
    return {setting(key): value for key, value in match.items()}


def _varying_together(cells: Sequence[Cell], varying: str) -> set[str]:
    """What changes along a line: settings with one value for each value of the slope's setting move with it."""
    together = {varying}
    for key in {key for cell in cells for key in cell.grid_point} - {varying}:
        values: dict[str, set[str]] = {}
        for cell in cells:
            values.setdefault(repr(attribute(cell, varying)), set()).add(repr(attribute(cell, key)))
        if all(len(of_one) == 1 for of_one in values.values()):
            together.add(key)
    return together


def _lines(cells: Sequence[Cell], along: set[str]) -> list[Line]:
    lines: dict[str, list[Cell]] = {}
    for cell in cells:
        lines.setdefault(identity(rest(cell, along)), []).append(cell)
    return [tuple(line) for line in lines.values()]


def _check_each(cells: Sequence[Cell], each: Sequence[str], differing: set[str]) -> None:
    check_attributes(cells, each)
    if both := sorted(map(written_setting, differing & set(each))):
        raise ValueError(
            f"{', '.join(both)} differs within a comparison. Expected attributes that are equal in it, or of which "
            "`first` lists several values"
        )


def _at(key: str, check: Any, *arguments: Any) -> Any:
    """Call a check; its error names this key of the comparison."""
    try:
        return check(*arguments)
    except ValueError as error:
        raise LocatedError(str(error), key) from error
