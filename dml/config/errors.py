"""From pydantic's errors to messages that name the YAML file, the line, the key, the value and the choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from pydantic import BaseModel, ValidationError

from dml import discovery
from dml.config.names import spellings, without_settings, written


class LocatedError(ValueError):
    """A problem that a check of a whole section finds in one of its settings.

    Parameters
    ----------
    message : what was expected, what came, and the choices.
    location : keys and positions of lists, from the checked section down to the setting.
    """

    def __init__(self, message: str, *location: str | int):
        super().__init__(message)
        self.location = location


def explain(files: Sequence[tuple[Path, str]], model: type[BaseModel], error: ValueError) -> str:
    """All problems of a study that `model` or a check rejects, one line each.

    Parameters
    ----------
    files : (path, text) of the study's file, then of those that it extends. The line is that of the first best match.

    Locations have the names of the code; messages have those of a file.
    """
    roots = [(path, yaml.compose(text)) for path, text in files]
    if isinstance(error, ValidationError):
        return "\n".join(dict.fromkeys(_explain(roots, model, problem) for problem in error.errors()))
    location = list(getattr(error, "location", ()))
    return f"{_place(roots, location)}: {_key(location) or 'study'}: {error}"


def _explain(roots: Sequence[tuple[Path, yaml.Node]], model: type[BaseModel], problem: Any) -> str:
    location = [part for part in problem["loc"] if not str(part).startswith("function-")]
    message = problem["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        message = f"unknown key{discovery.suggestion(str(location[-1]), _choices(model, location[:-1]))}"
    elif problem["type"] == "missing":
        message = "this key is missing"
    elif problem["type"] != "value_error":
        message += f", got {problem['input']!r}"
    return f"{_place(roots, location)}: {_key(location) or 'study'}: {message}"


def place(files: Sequence[tuple[Path, str]], *location: str | int) -> str:
    """`file:line: key` of a setting, for a problem that is found after reading; `files` as in `explain`."""
    return f"{line_of(files, *location)}: {_key(location)}"


def line_of(files: Sequence[tuple[Path, str]], *location: str | int) -> str:
    """`file:line` of a setting; `files` as in `explain`."""
    return _place([(path, yaml.compose(text)) for path, text in files], list(location))


def _key(location: Iterable[str | int]) -> str:
    """A location as a study's reader writes it: `losses[0].search.margin`."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in written(location)).lstrip(".")


def _place(roots: Sequence[tuple[Path, yaml.Node]], location: list[Any]) -> str:
    """`file:line` in the first of the files that contain the most of a location.

    A file that states a list or a value on the way replaces it, so the files that it extends have no part in the rest.
    """
    found = []
    for path, root in roots:
        places = (_line(root, names) for names in spellings(location))
        depth, line, replaced = max(places, key=lambda place: place[:2])  # of two names of a setting, the later
        found.append((depth, line, path))
        if replaced:
            break
    _, line, path = max(found, key=lambda place: place[0])
    return f"{path}:{line}"


def _choices(model: Any, location: list[Any]) -> list[str]:
    """The keys of the model at a location that a file may set."""
    keys = [part for part in location if not isinstance(part, int)]
    for key in keys:
        model = _model_in(get_type_hints(model)[key])
    if is_dataclass(model):
        names = [own.name for own in fields(model)]
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
