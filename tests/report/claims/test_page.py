"""Claims as the pages show them."""

import html
import re

import pytest

from dml.papers import paper_claims
from dml.report import assembly, claims_page
from dml.report.sections import TheoryVerdict
from dml.report.site import build

pytestmark = pytest.mark.slow


class _Proof:
    """A section of the theory page that refutes a claim."""

    anchor, title = "proof", "A proof"

    def content(self):
        return iter(())

    def verdicts(self):
        return [TheoryVerdict("eps-zero-loss-family", "refuted", "Risk 0.2 > 0.", "Twice the margin.")]


@pytest.fixture
def page(synthetic, tmp_path, monkeypatch, claim, made, asked):
    """The folder of a report of one study that ran and one that did not."""
    monkeypatch.setattr(assembly, "STUDY", ("claims",))
    monkeypatch.setattr("dml.report.site.theory_sections", lambda: [_Proof()])
    eps = {"paper": "eps", "text": ""}
    asked(
        [
            claim(id="eps-table-1-test", published=7.1, **eps),
            claim(id="eps-table-2-cub", **eps),
            claim(place="page 3", note="A <remark>."),
        ]
    )
    changes, alter = made([4.0, 5.0, 6.0, 5.5, 4.5])
    changes["noise"] = synthetic.noise([0.0])
    studies = [synthetic.small("ran", **changes), synthetic.small("waits", **changes)]
    synthetic.write(studies[0], tmp_path, alter)
    return build(studies, tmp_path / "results", tmp_path / "store", tmp_path / "report").parent


def _articles(text):
    return {
        m[1]: m[0] for m in re.finditer(r'<article class="claim" id="([\w-]+)".*?</article>', text, flags=re.DOTALL)
    }


def test_the_page_lists_all_claims_with_their_verdicts(page):
    text = (page / "claims.html").read_text(encoding="utf-8")
    articles = _articles(text)
    assert list(articles) == list(paper_claims())
    for name, found in articles.items():
        assert paper_claims()[name].claim in html.unescape(re.sub("<[^>]*>", "", found))
    counts = {word: sum(f'data-verdict="{word}"' in a for a in articles.values()) for word in claims_page.WORDS}
    assert counts == {"confirmed": 1, "refuted": 1, "undecided": 0, "not tested": 67, "needs data": 21}
    for word, number in counts.items():
        assert re.search(rf"<dt>. {word.capitalize()}</dt><dd>{number}<", text)


def test_a_claim_shows_its_effect_beside_the_published_one(page):
    articles = _articles((page / "claims.html").read_text(encoding="utf-8"))
    found = html.unescape(articles["eps-table-1-test"])
    for part in (
        "✓",
        "R@1, on digits: +5.0 [+4.0, +6.0] points",
        "p (Holm) < 0.001",
        "5 seeds",
        "published: +7.1",
        "42.3 against 35.2",
    ):
        assert part in found
    assert 'href="studies/ran.html#claims"' in found
    assert "not run" in found  # by the second study
    assert found.index("confirmed") < found.index("not run")


def test_theory_is_decided_by_its_sections(page):
    found = html.unescape(_articles((page / "claims.html").read_text(encoding="utf-8"))["eps-zero-loss-family"])
    for part in (
        'data-verdict="refuted"',
        "Risk 0.2 > 0.",
        'href="theory.html#proof"',
        "Corrected",
        "Twice the margin.",
    ):
        assert part in found
