"""From pydantic's errors to messages with the YAML file, the line, the key, the value and the choices.

Keys, digests and cells have the names of the first studies (`FIRST`), so that no trial runs again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from pydantic import BaseModel, ValidationError

from dml import discovery
from dml.counting import counted
from dml.discovery import suggestion

FIRST: dict[str, dict[str, str]] = {
    "": {"grid": "vary"},
    "datasets": {"name": "source", "id": "name", "settings": "options"},
    "noise": {"name": "model", "id": "name"},
    "training": {"init_from": "start"},
}
"""By section: what digests call settings that decide trials. Cells have those of training too."""
PARTS = {"training": ("backbone", "augment"), "audit": ("backbone",)}
"""By section: settings that are `{name, settings}` in a file; in the code, `backbone` and `backbone_settings`."""
SETTINGS = "_settings"
_ROOM = "training"
_WRITTEN = {first: name for name, first in FIRST[_ROOM].items()}


def setting(key: str) -> str:
    """What cells call a dotted setting of a file: `training.backbone_settings.width`."""
    room, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if room != _ROOM or not name:
        return key
    if inner and name in PARTS[_ROOM]:
        return f"{room}.{name}{SETTINGS}" + ("" if inner == "settings" else f".{inner}")
    return _dotted(room, FIRST[_ROOM].get(name, name), inner)


def written_setting(key: str) -> str:
    """How a file writes a dotted setting of a cell: `training.backbone.width`."""
    room, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if room != _ROOM or not name:
        return key
    if is_settings(_ROOM, name):
        return _dotted(room, name.removesuffix(SETTINGS), inner or "settings")
    return _dotted(room, section_key(_ROOM, name), inner)


def section_key(section: str, name: str) -> str:
    """What a section of the code calls a setting of a cell."""
    return _WRITTEN.get(name, name) if section == _ROOM else name


def is_settings(section: str, name: str) -> bool:
    """Whether a setting of a section has the settings of a part: `backbone_settings`."""
    return name.endswith(SETTINGS) and name.removesuffix(SETTINGS) in PARTS.get(section, ())


def without_settings(section: str, names: Iterable[str]) -> list[str]:
    """The keys of a section of a file: settings of a part are inside it."""
    return [name for name in names if not is_settings(section, name)]


def first_names(content: Mapping[str, Any]) -> dict[str, Any]:
    """A study's content with the names that digests have."""

    def named(names: Mapping[str, str], value: Any) -> Any:
        if isinstance(value, list):
            return [named(names, item) for item in value]
        return {names.get(key, key): inner for key, inner in value.items()} if isinstance(value, Mapping) else value

    return {FIRST[""].get(key, key): named(FIRST.get(key, {}), value) for key, value in content.items()}


def written(location: Iterable[str | int]) -> list[str | int]:
    """Where a file has a setting, by keys and positions of lists, whose location has the names of the code."""
    keys: list[str | int] = []
    section: str | None = ""
    for part in location:
        if isinstance(part, int):
            keys.append(part)
            continue
        if section is not None and is_settings(section, part):
            keys += [part.removesuffix(SETTINGS), "settings"]
        else:
            keys.append(written_setting(part))
        section = part if section == "" else None
    return keys


def _dotted(*parts: str) -> str:
    return ".".join(filter(None, parts))


KINDS = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type", "dataclass_type"), "a mapping of settings"),
    "string_type": "text",
}
"""Pydantic's errors of a value's type -> what was expected."""
BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}
"""Pydantic's errors of a number's size -> words before the bound, and its name in the error's context."""


class LocatedError(ValueError):
    """A problem that a check of a section finds: `location` has keys and positions of lists, down to the setting."""

    def __init__(self, message: str, *location: str | int):
        super().__init__(message)
        self.location = location


def explain(files: Sequence[tuple[Path, str]], model: type[BaseModel], error: ValueError) -> str:
    """All problems of a study that `model` or a check rejects, one line each. `files`: the study's, then its bases."""
    roots = [(path, yaml.compose(text)) for path, text in files]
    if isinstance(error, ValidationError):
        problems: dict[tuple[str | int, ...], list[Any]] = {}
        for problem in error.errors():
            inside = getattr(problem.get("ctx", {}).get("error"), "location", ())  # of a check of a whole section
            problems.setdefault((*filter(_is_in_file, problem["loc"]), *inside), []).append(problem)
        for place in [place for place, (first, *_) in problems.items() if first["type"] == "too_short"]:
            if any(other[: len(place)] == place for other in problems if other != place):
                del problems[place]  # it is short of what another line says is wrong
        lines = (line for place, those in problems.items() for line in _explain(roots, model, list(place), those))
        return "\n".join(dict.fromkeys(lines))
    location = list(getattr(error, "location", ()))
    return f"{_place(roots, location)}: {_key(location) or 'study'}: {error}"


def _is_in_file(part: str | int) -> bool:
    """Whether a part of pydantic's location is a key or a position, and not its name for one of several types."""
    return isinstance(part, int) or not (part.endswith("Section") or part.startswith(("function-", "constrained-")))


def _explain(
    roots: Sequence[tuple[Path, yaml.Node]], model: type[BaseModel], location: list[Any], problems: list[Any]
) -> Iterator[str]:
    """The lines of all problems at one location. Those of several allowed types are one line."""
    where = f"{_place(roots, location)}: {_key(location) or 'study'}"
    of_type = [KINDS[problem["type"]] for problem in problems if problem["type"] in KINDS]
    if len(of_type) == len(problems):
        yield f"{where}: expected {' or '.join(dict.fromkeys(of_type))}, got {problems[0]['input']!r}"
        return
    for problem in problems:
        kind, context = problem["type"], problem.get("ctx", {})
        if kind in ("extra_forbidden", "unexpected_keyword_argument"):
            yield f"{where}: unknown key{discovery.suggestion(str(location[-1]), _choices(model, location[:-1]))}"
        elif kind == "missing":
            yield f"{where}: this key is missing"
        elif kind == "value_error":
            text = problem["msg"].removeprefix("Value error, ")
            inside = _setting_of_part(roots, location, text)
            yield f"{_place(roots, inside)}: {_key(inside) or 'study'}: {text}"
        elif kind == "too_short":
            least = counted(context["min_length"], "value")
            yield f"{where}: expected at least {least}, got {problem['input']!r}"
        elif kind in BOUNDS:
            words, name = BOUNDS[kind]
            yield f"{where}: expected {words} {str(context[name]).removesuffix('.0')}, got {problem['input']!r}"
        elif kind not in KINDS:
            yield f"{where}: {problem['msg'].replace('Input should be', 'expected')}, got {problem['input']!r}"


OF_PART = re.compile(r"(?:\w+ )?(\w+) '[^']+': (?:unknown setting ')?(\w+)(?:'|: )")  # how a part's errors begin


def _setting_of_part(roots: Sequence[tuple[Path, yaml.Node]], location: list[Any], text: str) -> list[Any]:
    """Where a file has the setting that an error of a part is about; the part's section, if no file has it."""
    if not (match := OF_PART.match(text)):
        return location
    kind, name = match.groups()
    inside = [[*location, key, name] for key in ("settings", "search", f"{kind}{SETTINGS}")]
    stated = (place for place in inside for _, root in roots if _line(root, written(place))[0] == len(written(place)))
    return next(stated, location)


def place_in(files: Sequence[tuple[Path, str]], *location: str | int) -> str:
    """`file:line: key` of a setting, for a problem that is found after reading; `files` as in `explain`."""
    return f"{_place([(path, yaml.compose(text)) for path, text in files], list(location))}: {_key(location)}"


def _key(location: Iterable[str | int]) -> str:
    """A location as a study's reader writes it: `losses[0].search.margin`."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in written(location)).lstrip(".")


def _place(roots: Sequence[tuple[Path, yaml.Node]], location: list[Any]) -> str:
    """`file:line` in the first of the files that contain the most of a location.

    A file that states a list or a value on the way replaces it, so the files that it extends have no part in the rest.
    """
    candidates = []
    for path, root in roots:
        places = (_line(root, names) for names in (written(location), location))
        depth, line, replaced = max(places, key=lambda place: place[:2])
        candidates.append((depth, line, path))
        if replaced:
            break
    _, line, path = max(candidates, key=lambda place: place[0])
    return f"{path}:{line}"


def _choices(model: Any, location: list[Any]) -> list[str]:
    """The keys of the model at a location that a file may set."""
    keys = [part for part in location if not isinstance(part, int)]
    for key in keys:
        model = _model_in(get_type_hints(model)[key])
    if is_dataclass(model):
        names = [field.name for field in fields(model)]
    else:
        names = [name for name, field in model.model_fields.items() if not field.exclude]
    return without_settings(keys[0], names) if len(keys) == 1 else names


def _model_in(annotation: Any) -> Any:
    """The class of a section inside an annotation such as `list[Annotated[LossSection, ...]]`, or None."""
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or is_dataclass(annotation)):
        return annotation
    inner = (_model_in(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)


def _line(node: yaml.Node, location: Sequence[Any]) -> tuple[int, int, bool]:
    """How many parts of a location a file contains, the line of the deepest, and whether one of them is no mapping."""
    line, depth, replaced = node.start_mark.line + 1, 0, False
    for part in location:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    line, node = key.start_mark.line + 1, value
                    break
            else:
                return depth, line, replaced
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            return depth, line, replaced
        depth += 1
        replaced = replaced or not isinstance(node, yaml.MappingNode)
    return depth, line, replaced


OF_A_PART = ("name", "settings")


def renamed(content: Mapping[str, Any], of_file: bool = False) -> dict[str, Any]:
    """A study's content with the names of the code; it may have them already, unless it is `of_file`."""
    sections = dict(content)
    for name in PARTS:
        if isinstance(sections.get(name), Mapping):
            sections[name] = _section(name, sections[name], of_file)
    return {key: _dotted_in(value, (key,), of_file) for key, value in sections.items()}


def _section(section: str, given: Mapping[str, Any], of_file: bool) -> dict[str, Any]:
    """The settings of one section with the names of the code."""
    settings: dict[str, Any] = {}
    for key, value in given.items():
        if key in PARTS[section] and isinstance(value, Mapping):
            for inner, of_part in value.items():
                if inner not in OF_A_PART:
                    raise LocatedError(f"unknown key{suggestion(str(inner), OF_A_PART)}", section, key, str(inner))
                settings[key if inner == "name" else f"{key}{SETTINGS}"] = of_part
            continue
        if of_file and is_settings(section, key):
            whole = key.removesuffix(SETTINGS)
            raise LocatedError(f"unknown key {key!r}; did you mean '{whole}: {{name, settings}}'?", section, key)
        settings[key] = value
    return settings


def _dotted_in(value: Any, location: tuple[str | int, ...], of_file: bool) -> Any:
    """A value with the names of the code for all dotted settings in it: axes, and attributes of cells."""
    if isinstance(value, list):
        return [_dotted_in(inner, (*location, position), of_file) for position, inner in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    values: dict[Any, Any] = {}
    for key, inner in value.items():
        below, name = (*location, key), setting(key) if isinstance(key, str) else key
        if of_file and isinstance(key, str) and (now := written_setting(key)) != key:
            raise LocatedError(f"unknown setting {key!r}; did you mean {now!r}?", *below)
        if name in values or (name != key and name in value):
            raise LocatedError(f"two values for one setting: {key!r} is short for {name!r}", *below)
        values[name] = _dotted_in(inner, below, of_file)
    return values
