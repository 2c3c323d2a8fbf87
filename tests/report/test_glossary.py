"""The glossary: one source, a page, and terms that explain themselves on other pages."""

import re

import pytest

from dml.report.page.html import Marker

pytestmark = pytest.mark.slow


def test_the_first_occurrence_in_a_section_is_marked_and_text_is_escaped():
    marker = Marker("../")
    text = marker.mark("MAP@R <b> and NMI+, then MAP@R; easy positives")
    assert text.count('class="term"') == 3
    assert (
        '<a class="term" href="../glossary.html#map-at-r" aria-describedby="means-map-at-r">MAP@R</a> &lt;b&gt;' in text
    )
    assert "#nmi-plus" in text
    assert '#nmi"' not in text
    assert "#easy-positive" in text
    assert "term" not in marker.mark("MAP@R again")
    marker.section()
    assert "term" in marker.mark("MAP@R again")
    assert set(marker.used) == {"map-at-r", "nmi-plus", "easy-positive"}


def test_pages_carry_the_meaning_of_each_marked_term(site):
    for page in ("index.html", "claims.html", "theory.html", "studies/digits.html"):
        text = (site.report / page).read_text(encoding="utf-8")
        asked = set(re.findall(r'aria-describedby="(means-[\w-]+)"', text))
        asked |= {i for ids in re.findall(r'data-means="([^"]*)"', text) for i in ids.split()}
        assert asked
        assert asked <= set(re.findall(r'id="([\w.-]+)"', text)), page
    assert 'id="eta"' in (site.report / "glossary.html").read_text(encoding="utf-8")
