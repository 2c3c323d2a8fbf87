"""Sentences of the report are in the YAML file beside the module that says them, and each is said."""

import ast
import string
from pathlib import Path

import pytest

import dml.report
from dml.report.labels import Texts

ROOM = Path(dml.report.__file__).parent
FILES = sorted(set(ROOM.rglob("*.yaml")) - {ROOM / "glossary.yaml"})


def said(module: Path) -> dict[str, list[set[str]]]:
    """The names of the texts that a module says, with the values that each call gives."""
    found: dict[str, list[set[str]]] = {}
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
            (name,) = node.args
            assert isinstance(name, ast.Constant), f"{module.name}:{node.lineno}: a text is named by a literal"
            assert all(value.arg for value in node.keywords), f"{module.name}:{node.lineno}: values are named"
            found.setdefault(name.value, []).append({str(value.arg) for value in node.keywords})
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_each_text_is_said_with_the_values_it_asks_for(file):
    calls = said(file.with_suffix(".py"))
    texts = Texts(str(file)).named
    assert set(calls) == set(texts)
    for name, text in texts.items():
        asked = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
        assert all(values == asked for values in calls[name]), f"{file.name}: {name} asks for {asked}"
        assert text == " ".join(text.split()), f"{file.name}: {name} is one line"


def test_every_module_that_says_something_has_its_file():
    speaking = {path.with_suffix(".yaml") for path in ROOM.rglob("*.py") if said(path)}
    assert speaking == set(FILES)
    assert len(FILES) > 20
