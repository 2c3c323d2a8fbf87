"""Every section, the lists that say what is on a page, and the sentences that sections say."""

import ast
import string
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

import dml.report
from dml import discovery
from dml.report import assembly, sections
from dml.report.assembly import PACKAGE
from dml.report.labels import Texts

NAMES = discovery.names(PACKAGE)


def test_every_section_is_on_one_page():
    assert sorted(assembly.STUDY) == list(NAMES)


def test_a_new_section_is_one_file_and_one_line(synthetic, built, monkeypatch):
    """The example of the package's docstring works as it is."""
    source = textwrap.dedent(sections.__doc__.split("`seed_spread.py`:\n\n")[1].split("\n\nA block that is None")[0])
    module = ModuleType(f"{PACKAGE}.seed_spread")
    exec(compile(source, "seed_spread.py", "exec", dont_inherit=True), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = discovery.names
    own = {PACKAGE: (*NAMES, "seed_spread")}
    monkeypatch.setattr(discovery, "names", lambda package: own.get(package) or names(package))
    monkeypatch.setattr(assembly, "STUDY", ("winners", "seed_spread"))
    page = built(synthetic.small())
    assert '<h2 id="seed-spread">' in page
    assert 'id="table-seed-spread"' in page
    assert "figures/small/seed-spread.svg" in page


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
