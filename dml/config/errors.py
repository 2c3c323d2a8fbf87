"""From pydantic's errors to messages that name the YAML file, the line, the key, the value and the choices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from dml import discovery


def explain(path: Path, text: str, model: type[BaseModel], error: ValidationError) -> str:
    """All problems of a YAML file that `model` rejects, one line each."""
    root = yaml.compose(text)
    return "\n".join(dict.fromkeys(_explain(path, root, model, problem) for problem in error.errors()))


def _explain(path: Path, root: yaml.Node, model: type[BaseModel], problem: Any) -> str:
    location = [part for part in problem["loc"] if not str(part).startswith("function-")]
    key = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in location).lstrip(".") or "study"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        message = f"unknown key{discovery.suggestion(str(location[-1]), _choices(model, location[:-1]))}"
    elif problem["type"] == "missing":
        message = "this key is missing"
    elif problem["type"] != "value_error":
        message += f", got {problem['input']!r}"
    return f"{path}:{_line(root, location)}: {key}: {message}"


def _choices(model: Any, location: list[Any]) -> list[str]:
    """The keys of the model at a location that a file may set."""
    for part in location:
        if isinstance(part, int):
            continue
        model = _model_in(model.model_fields[part].annotation)
    return [name for name, field in model.model_fields.items() if not field.exclude]


def _model_in(annotation: Any) -> Any:
    """The model class inside an annotation such as `list[Annotated[LossSection, ...]]`, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)


def _line(node: yaml.Node, location: list[Any]) -> int:
    """The line of the deepest part of a location that the file contains."""
    line = node.start_mark.line + 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    line, node = key.start_mark.line + 1, value
                    break
            else:
                return line
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line
