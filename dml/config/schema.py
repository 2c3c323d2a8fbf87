"""The reference of settings, docs/settings.md, which `python -m dml.config.schema` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dml import discovery
from dml.config.errors import PARTS, SETTINGS
from dml.config.loading import EXTENDS
from dml.config.study import Study

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
MANY = 12  # names of parts, of which a table lists none: docs/parts.md does
BOUNDS = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "to {}", "exclusiveMaximum": "below {}"}
TYPES = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "array": "list",
    "object": "mapping",
}
HEAD = """# Settings of a study

<!-- Written by `python -m dml.config.schema` from the models in dml/config: change them, not this page. -->

Every key of a study's YAML, with its values and its default. [Studies](studies.md) explains how they work together.
Unknown keys are rejected, with the file, the line and the choices.

A search space is `{uniform: [low, high]}`, `{log_uniform: [low, high]}`, `{choice: [a, b]}`, or `own`, the
range that a part states itself. *Attributes of cells* are described in [studies](studies.md#attributes-of-cells).
"""

Schema = dict[str, Any]


def _schema() -> Schema:
    schema = _with_names(Study.model_json_schema())
    del schema["properties"]["name"]  # the file's
    for name, parts in PARTS.items():
        section = _section(schema["properties"][name], schema)
        assert section is not None, name
        for part in parts:  # a file has its settings inside it
            field, settings = section["properties"][part], section["properties"].pop(f"{part}{SETTINGS}")
            kinds = [*field.get("anyOf", [dict(field)]), {"properties": {"name": {}, "settings": {}}}]
            field |= {"anyOf": kinds, "description": f"{field['description']}; settings: {settings['description']}"}
    extends = "another study in the folder: its settings, except for those given here"
    schema["properties"] = {EXTENDS: {"type": "string", "description": extends}, **schema["properties"]}
    return schema


def _with_names(schema: Any) -> Any:
    """A schema with the names of the parts of a package where it says `parts` (`dml.types.part_of`)."""
    if isinstance(schema, list):
        return [_with_names(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    names = {"enum": list(discovery.names(schema["parts"]))} if isinstance(schema.get("parts"), str) else {}
    return names | {"anyOf" if key == "oneOf" else key: _with_names(inner) for key, inner in schema.items()}


def reference() -> str:
    """The page of all settings: one table for each section of a study, in Markdown."""
    whole = _schema()
    top = _table("", whole, whole)
    sections = [
        f"## `{path}`\n\n{' '.join(section['description'].split())}\n\n{_table(path, section, whole)}"
        for path, section in _sections("", whole, whole)
    ]
    return "\n".join([HEAD, top, *sections])


def _sections(path: str, parent: Schema, whole: Schema) -> Iterator[tuple[str, Schema]]:
    """Each section below another by its dotted path."""
    for name, field in parent["properties"].items():
        if (section := _section(field, whole)) is not None:
            below = f"{path}.{name}".lstrip(".")
            yield below, section
            yield from _sections(below, section, whole)


def _section(field: Schema, whole: Schema) -> Schema | None:
    """The section that a setting is, or contains, if it is one."""
    if "$ref" in field:
        return whole["$defs"][field["$ref"].rsplit("/", 1)[1]]
    inner = [field["items"]] if "items" in field else field.get("anyOf", [])
    return next((section for part in inner if (section := _section(part, whole)) is not None), None)


def _table(path: str, section: Schema, whole: Schema) -> str:
    rows = ["| setting | values | default | |", "|---|---|---|---|"]
    for name, field in section["properties"].items():
        values = _values(field)
        if _section(field, whole) is not None:
            others = [part for part in field.get("anyOf", []) if _section(part, whole) is None]
            link = f"[{'list' if 'items' in field else 'mapping'}](#{f'{path}{name}'.replace('.', '')})"
            values = ", or ".join(filter(None, [_values({"anyOf": others}), link]))
        default = "required" if name in section.get("required", ()) else _default(field)
        rows.append(f"| `{name}` | {values} | {default} | {field['description'].replace('|', '&#124;')} |")
    return "\n".join(rows) + "\n"


def _values(field: Schema) -> str:
    """The values that a setting takes, in words."""
    if "anyOf" in field:
        kinds = [_values(part) for part in field["anyOf"] if part.get("type") != "null"]
        return ", or ".join(dict.fromkeys(kind for kind in kinds if kind))
    if "enum" in field or "const" in field:
        names = field.get("enum") or [field["const"]]
        return " ".join(f"`{name}`" for name in names) if len(names) <= MANY else "name"
    if "$ref" in field:
        return "mapping"
    if {"name", "settings"} == set(field.get("properties", ())):
        return "`{name, settings}`"
    if field.get("type") == "array":
        inner = _values(field.get("items", {}))
        return f"list of {inner}" if inner.startswith("`") else "list"
    bounds = [text.format(field[key]) for key, text in BOUNDS.items() if key in field]
    return " ".join([TYPES.get(field.get("type", ""), ""), *bounds]).strip()


def _default(field: Schema) -> str:
    default = field.get("default")
    if default in (None, "", [], {}):
        stated = "default" in field or field.get("type") == "object"  # an empty mapping
        return "none" if stated and "$ref" not in field else ""
    return f"`{json.dumps(default, ensure_ascii=False).replace(chr(34), '')}`"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
