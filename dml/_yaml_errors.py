"""What pydantic found wrong with a YAML file, said with file, line, key, value and choices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from dml import discovery


def explain(path: Path, text: str, model: type[BaseModel], error: ValidationError) -> str:
    """All problems of a YAML file that `model` does not take, a line each."""
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
    """The keys that the model at a location has, but for those that no file gives."""
    for part in location:
        if isinstance(part, int):
            continue
        model = _models_in(model.model_fields[part].annotation)
    return [name for name, field in model.model_fields.items() if not field.exclude]


def _models_in(annotation: Any) -> Any:
    """The model class within an annotation such as `list[Annotated[LossSpec, ...]]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_models_in(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)


def _line(node: yaml.Node, location: list[Any]) -> int:
    """The line in the file of the deepest part of a location that the file has."""
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
