"""Every section, and the lists that say what is on a page."""

import sys
import textwrap
from types import ModuleType

from dml import discovery
from dml.report import assembly, sections
from dml.report.assembly import PACKAGE

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
