"""Every section, and the lists that say what is on a page."""

import pkgutil
import sys
import textwrap
import typing
from types import ModuleType

import pytest
from synthetic import flat

from dml import discovery
from dml.report import contents, sections
from dml.report.assembly import PACKAGE
from dml.report.loading import load
from dml.report.page.assets import SavedBlock
from dml.report.page.blocks import Drawing
from dml.report.page.html import TEMPLATES
from dml.report.page.tables import Table
from dml.report.sections.protocols import CardSection
from dml.report.theory_page import theory_sections

NAMES = discovery.names(PACKAGE)


def test_every_section_is_on_one_page():
    assert sorted(contents.STUDY) == list(NAMES)


def test_every_module_is_a_section_a_helper_or_the_protocol():
    public = {m.name for m in pkgutil.iter_modules(sections.__path__) if not m.name.startswith("_")}
    assert public - set(NAMES) == {"protocols"}


def test_the_index_lists_sections_of_the_study_page():
    assert set(contents.KEY_FIGURE) <= set(contents.STUDY)
    for name in contents.INDEX:
        assert isinstance(discovery.build(PACKAGE, name), CardSection)


@pytest.mark.parametrize("found", [[discovery.build(PACKAGE, n) for n in contents.STUDY], theory_sections()])
def test_anchors_and_titles_are_unique(found):
    for attribute in ("anchor", "title"):
        values = [getattr(section, attribute) for section in found]
        assert len(set(values)) == len(values)
        assert all(values)


@pytest.mark.parametrize("name", contents.STUDY)
def test_a_section_survives_a_study_without_trials(name, synthetic, tmp_path):
    results = load(synthetic.small(), tmp_path)
    section = discovery.build(PACKAGE, name)
    blocks = list(flat(section.content(results))) if section.applies(results) else []
    assert not any(isinstance(block, Drawing) and block.figure is not None for block in blocks)


@pytest.mark.parametrize("which", ["small", "plane_study"])
def test_names_of_files_are_unique(which, synthetic, loaded):
    results = loaded(getattr(synthetic, which)())
    found = [discovery.build(PACKAGE, name) for name in contents.STUDY]
    blocks = [b for section in found if section.applies(results) for b in flat(section.content(results))]
    for kind in (Drawing, Table):
        names = [block.name for block in blocks if isinstance(block, kind)]
        assert names
        assert len(set(names)) == len(names)


def test_a_new_section_is_one_file_and_one_line(synthetic, built, monkeypatch):
    """The example of the package's docstring works as it is."""
    source = textwrap.dedent(sections.__doc__.split("`seed_spread.py`:\n\n")[1].split("\n\nA block that is None")[0])
    module = ModuleType(f"{PACKAGE}.seed_spread")
    exec(compile(source, "seed_spread.py", "exec", dont_inherit=True), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = discovery.names
    own = {PACKAGE: (*NAMES, "seed_spread")}
    monkeypatch.setattr(discovery, "names", lambda package: own.get(package) or names(package))
    monkeypatch.setattr(contents, "STUDY", ("winners", "seed_spread"))
    page = built(synthetic.small())
    assert '<h2 id="seed-spread">' in page
    assert 'id="table-seed-spread"' in page
    assert "figures/small/seed-spread.svg" in page


def test_every_kind_of_block_has_a_macro():
    text = (TEMPLATES / "blocks.html").read_text(encoding="utf-8")
    for kind in typing.get_args(SavedBlock):
        assert f"{{% macro {kind.kind}(" in text
        assert f'"{kind.kind}": {kind.kind}' in text
