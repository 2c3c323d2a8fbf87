"""Every section, and the lists that say what is on a page."""

import sys
import textwrap
from types import ModuleType

import pytest
from synthetic import flat

from dml import discovery
from dml.report import assembly, sections
from dml.report.assembly import PACKAGE
from dml.report.claims_page import theory_sections
from dml.report.loading import load
from dml.report.page.blocks import Drawing

NAMES = discovery.names(PACKAGE)


def test_every_section_is_on_one_page():
    assert sorted(assembly.STUDY) == list(NAMES)


@pytest.mark.parametrize("found", [[discovery.build(PACKAGE, n) for n in assembly.STUDY], theory_sections()])
def test_anchors_and_titles_are_unique(found):
    for attribute in ("anchor", "title"):
        values = [getattr(section, attribute) for section in found]
        assert len(set(values)) == len(values)
        assert all(values)


@pytest.mark.parametrize("name", assembly.STUDY)
def test_a_section_survives_a_study_without_trials(name, synthetic, tmp_path):
    results = load(synthetic.small(), tmp_path)
    section = discovery.build(PACKAGE, name)
    blocks = list(flat(section.content(results))) if section.applies(results) else []
    assert not any(isinstance(block, Drawing) and block.figure is not None for block in blocks)


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
