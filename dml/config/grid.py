"""The section `grid`: settings of `training`, `miner` and `loss` as axes of a study.

    grid:
      training.batch.per_class: [2, 4, 8]
      training.backbone.width: [8, 16]
      training.batch: [{classes: 80, per_class: 2}, {classes: 40, per_class: 4}]
      network: [{training.backbone: mlp, training.embedding_size: 8}, {training.backbone: small_conv, ...}]

A key is a setting, or a section or a name of the user's own for settings that move together. A cell takes one value of
each axis, and ignores settings that its loss or its policies do not have.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import dml
from dml import discovery
from dml.config.errors import PARTS, SETTINGS, LocatedError, section_key, setting, without_settings, written_setting
from dml.config.parts import LossSection, MinerSection
from dml.config.terms import StudySection
from dml.config.training import REAL, ROOMS, TrainingSection
from dml.types import BatchSpec, Part, TrainingSettings

SECTIONS = (*ROOMS, "training.batch")
OF_PARTS = {f"training.{name}": f"training.{name}{SETTINGS}" for name in PARTS["training"]}
NUMBERS = tuple(f"training.{name}" for name in REAL)
FIXED = {"training.workers", "training.search"}
"""Settings that change no result, or that are not settings of a trial."""

Values = dict[str, Any]  # dotted settings, such as `training.batch.per_class`, and their values
S = TypeVar("S", bound=StudySection | TrainingSettings)


def axes(grid: Mapping[str, list[Any]]) -> dict[str, list[Values]]:
    """The values of each axis, as dotted settings."""
    points_by_axis = {key: [_flat(key, value, ("grid", key, i)) for i, value in enumerate(grid[key])] for key in grid}
    owner: dict[str, str] = {}
    for axis, points in points_by_axis.items():
        if len(points) < 2 or any(point in points[:i] for i, point in enumerate(points)):  # 5 and 5.0 are one value
            raise LocatedError(f"expected at least two values, each once, got {grid[axis]!r}", "grid", axis)
        for name in dict.fromkeys(itertools.chain.from_iterable(points)):
            if name in owner:
                one, other = written_setting(name), written_setting(owner[name])
                raise LocatedError(f"{one!r} varies in {other!r} too: remove one", "grid", axis)
            owner[name] = axis
    for name, axis in owner.items():
        whole = name.rpartition(".")[0]
        if whole in owner:
            part, other = written_setting(name), written_setting(whole)
            raise LocatedError(f"{part!r} is a part of {other!r}, which varies too: remove one", "grid", axis)
    return points_by_axis


def combinations(axes: Mapping[str, list[Values]]) -> list[Values]:
    """Every combination of the axes' values; one empty combination without axes."""
    return [{k: v for point in points for k, v in point.items()} for points in itertools.product(*axes.values())]


def of(room: str, values: Mapping[str, Any]) -> Values:
    """The settings of one section, without its name: `loss.margin` -> `margin`."""
    parts = ((key.partition("."), value) for key, value in values.items())
    return {section_key(room, name): value for (section, _, name), value in parts if section == room}


def changed(section: S, values: Mapping[str, Any]) -> S:
    """A section with some dotted settings changed, checked again; the section itself without any."""
    if not values:
        return section
    content = dict(vars(section))
    for key, value in values.items():
        name, _, rest = key.partition(".")
        if rest:
            inner = content[name]
            value = {**(vars(inner) if is_dataclass(inner) else inner), rest: value}
        content[name] = value
    return type(section)(**content)


def _flat(key: str, value: Any, location: tuple[str | int, ...]) -> Values:
    """One value of an axis as dotted settings."""
    if key.partition(".")[0] not in ROOMS:
        if not isinstance(value, Mapping):
            example = "{training.steps: 100, loss.margin: 0.2}"
            problem = f"{key!r} is not a setting, and not a name for mappings such as {example}"
            raise LocatedError(f"{problem}; got {value!r}{discovery.suggestion(key, _settings())}", *location)
        for name in map(str, value):
            if name.partition(".")[0] not in ROOMS:
                raise LocatedError(f"unknown setting {name!r}{discovery.suggestion(name, _settings())}", *location)
        parts = [_flat(name, inner, location) for name, inner in value.items()]
        return {name: inner for part in parts for name, inner in part.items()}
    key = setting(key)
    _check(key, location)
    if key in OF_PARTS and isinstance(value, Mapping):
        names = {"name": key, "settings": OF_PARTS[key]}
        for name in value:
            if name not in names:
                raise LocatedError(f"{key}: unknown key {name!r}{discovery.suggestion(name, names)}", *location)
        return {names[name]: inner for name, inner in value.items()}
    if key not in SECTIONS:
        return {key: _number(value) if key in NUMBERS else value}
    if not isinstance(value, Mapping):
        raise LocatedError(f"{key!r} is a section: expected a mapping of its settings, got {value!r}", *location)
    parts = [_flat(f"{key}.{name}", inner, location) for name, inner in value.items()]
    return {name: inner for part in parts for name, inner in part.items()}


def _number(value: Any) -> Any:
    """A number that YAML reads as text, such as 1e-3."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value  # rejected with the cells


def _check(key: str, location: tuple[str | int, ...]) -> None:
    """That a setting exists and can vary. Those of losses and policies are checked with the cells."""
    if key in FIXED:
        raise LocatedError(f"{key!r} does not decide a result, so it cannot vary", *location)
    choices = _settings()
    inside = any(key == name or key.startswith(f"{name}.") for name in OF_PARTS.values())
    if key.startswith("training.") and written_setting(key) not in choices and not inside:
        raise LocatedError(f"unknown setting {written_setting(key)!r}{discovery.suggestion(key, choices)}", *location)


def _settings() -> list[str]:
    """The settings that can vary, without those of losses and policies, as a file writes them."""
    sections = without_settings("training", (field.name for field in fields(TrainingSection)))
    names = [f"training.{name}" for name in sections] + [f"training.batch.{field.name}" for field in fields(BatchSpec)]
    return [name for name in names if name not in FIXED]


def loss_settings(loss: LossSection, grid_point: Mapping[str, Any]) -> dict[str, Any]:
    """What varies of one loss: the settings that it has."""
    return discovery.accepted(discovery.find("dml.losses", loss.name), of("loss", grid_point))


def loss_with(loss: LossSection, grid_point: Mapping[str, Any]) -> LossSection:
    """A loss with what varies filled in; what varies is not searched."""
    varying = loss_settings(loss, grid_point)
    search = None if loss.search is None else {k: v for k, v in loss.search.items() if k not in varying}
    return changed(loss, {"settings": {**loss.settings, **varying}, "search": search})


def miner_with(miner: MinerSection, grid_point: Mapping[str, Any]) -> MinerSection:
    """The section `miner` with what varies filled in."""
    values = of("miner", grid_point)
    return changed(miner, {"settings": {**miner.settings, **values}}) if values else miner


def miner_settings(
    positives: str | None, negatives: str | None, foreign: Part | None, grid_point: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What varies of a cell's miner, two policies or one of another package: the settings that it has."""
    varying = of("miner", grid_point)
    if not varying:
        return {}
    if foreign is not None:
        return discovery.accepted(discovery.find("dml.miners", foreign.name), varying)
    if positives is None or negatives is None:
        return {}
    taken = dml.miners.settings_of_pair(positives, negatives)
    return {key: value for key, value in varying.items() if key in taken}
