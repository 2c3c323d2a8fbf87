"""Claims that are not tested name the command that would test them."""

import html
import re
from pathlib import Path

import pytest

from dml.report import claims_page
from dml.report.studies_by_claim import studies_by_claim

STUDIES = Path(__file__).parents[2] / "pipelines" / "studies"


def test_studies_are_found_by_their_claims_also_inherited_ones(tmp_path):
    (tmp_path / "first.yaml").write_text("claims:\n  - {claim: eps-a}\n  - {claim: eps-b}\n  - {text: own}\n")
    (tmp_path / "second.yaml").write_text("extends: first\n")
    (tmp_path / "third.yaml").write_text("title: none\n")
    (tmp_path / "broken.yaml").write_text("claims: [\n")
    assert studies_by_claim(tmp_path) == {"eps-a": ["first", "second"], "eps-b": ["first", "second"]}
    assert studies_by_claim(None) == {}


@pytest.mark.parametrize("known", [None, STUDIES])
def test_an_untested_claim_names_its_commands(tmp_path, known):
    entries = claims_page.claim_entries([], [], studies_by_claim(known))
    assert {entry.verdict for entry in entries} == {"not tested", "needs data"}
    found = {entry.anchor: entry.commands for entry in entries}
    assert ("make repro STUDY=eps-table1" in found["eps-table-1-test"]) == (known is not None)
    for commands in found.values():
        for command in commands:
            assert (STUDIES / f"{command.rpartition('=')[2]}.yaml").is_file()


@pytest.mark.slow
def test_the_page_shows_them(site):
    """This site knows no folder of studies."""
    text = html.unescape((site.report / "claims.html").read_text(encoding="utf-8"))
    assert not re.search(r"tests? it</dt>", text)
    assert "the objective" not in re.sub(r"R@1, the objective", "", text)
