"""The site as a whole: complete, self-contained, reproducible."""

import html.parser
import re
import urllib.parse

import pandas as pd
import pytest

from dml.report import assembly
from dml.report.site import Source, build

pytestmark = pytest.mark.slow


class _Links(html.parser.HTMLParser):
    """Every address and every id of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("href", "src", "srcset"):
                self.links.append(value)
            if key == "id":
                self.ids.append(value)


def test_every_link_and_image_resolves(site):
    pages = [site.report / f"{name}.html" for name in ("index", "claims", "theory", "glossary")]
    pages += (site.report / "studies").glob("*.html")
    assert len(pages) == 7
    for page in pages:
        content = _Links(page.read_text(encoding="utf-8"))
        assert len(set(content.ids)) == len(content.ids)
        for link in content.links:
            if link == "data:,":
                continue
            path, _, anchor = link.partition("#")
            if path:
                assert (page.parent / urllib.parse.unquote(path)).is_file(), f"{page.name}: {link}"
            else:
                assert anchor in content.ids


def test_every_figure_of_the_site_has_a_file_of_its_numbers(site):
    for page in site.report.rglob("*.html"):
        for figure in re.findall(r"<figure>.*?</figure>", page.read_text(encoding="utf-8"), re.S):
            link = re.search(r'href="([^"]+\.csv)" download', figure)
            assert link, figure
            frame = pd.read_csv(page.parent / link[1])
            assert len(frame) > 1, link[1]


def test_the_same_inputs_give_the_same_bytes(synthetic, tmp_path):
    study = synthetic.plane_study(seeds=2)
    synthetic.write(study, tmp_path)
    one, two = (build([study], tmp_path / "results", tmp_path / "store", tmp_path / out).parent for out in "ab")
    assert len(synthetic.contents(one)) > 20
    assert synthetic.contents(one) == synthetic.contents(two)


def test_a_page_shows_what_failed_and_what_is_missing(synthetic, built):
    study = synthetic.small()
    first = study.cells()[0].name

    def alter(frame):
        failed = (frame["cell"] == first) & (frame["phase"] == "confirm")
        frame.loc[failed, ["status", "error"]] = ["failed", "Traceback\n<b>TrainingError</b>: loss is nan"]
        frame.loc[failed, [c for c in frame.columns if "/" in c]] = None
        return frame

    page = built(study, alter)
    assert "3 trials failed" in page
    assert "1 cell of 4 incomplete: 3 seeds missing" in page
    assert page.count("Traceback\n&lt;b&gt;TrainingError&lt;/b&gt;: loss is nan") == 3
    assert "<b>TrainingError" not in page
    assert "0 of 3, 3 failed" in page


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        (lambda frame: frame.iloc[:0], "No trial has finished yet: dml run small"),
        (lambda frame: frame.drop(columns=["curve", "error"]), "trials.parquet lacks the columns error, curve"),
    ],
)
def test_partial_inputs_are_reported(synthetic, built, tmp_path, alter, expected):
    assert expected in built(synthetic.small(), alter)
    assert expected in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_a_report_is_replaced_and_files_of_others_stay(synthetic, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.report.site.theory_sections", list)
    study = synthetic.small("empty")
    out = tmp_path / "report"
    build([study], tmp_path, tmp_path, out)
    (out / "note.html").write_text("mine")
    build([synthetic.small("other")], tmp_path, tmp_path, out)
    assert sorted(path.name for path in (out / "studies").iterdir()) == ["other.html"]
    assert (out / "note.html").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report"]
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.tex").write_text("years of work")
    with pytest.raises(ValueError, match="thesis"):
        build([study], tmp_path, tmp_path, other)
    assert (other / "chapter.tex").exists()


def test_a_failing_build_leaves_the_old_report(synthetic, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.report.site.theory_sections", list)
    build([synthetic.small("empty")], tmp_path, tmp_path, tmp_path / "report")
    before = (tmp_path / "report" / "index.html").read_bytes()
    wrong = synthetic.plane_study()
    wrong.reference_values[0].__dict__["method"] = "no such method"
    with pytest.raises(ValueError, match="no such method"):
        build([wrong], tmp_path, tmp_path, tmp_path / "report")
    assert (tmp_path / "report" / "index.html").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report"]


def test_only_pages_whose_inputs_changed_are_made_again(synthetic, tmp_path, monkeypatch):
    """Those made anew and those that are kept give the same site, whose index begins with the studies that ran here."""
    monkeypatch.setattr("dml.report.site.theory_sections", list)
    monkeypatch.setattr(assembly, "STUDY", ("winners",))
    studies = [synthetic.small(name) for name in ("other", "one", "two")]
    for study in studies[1:]:
        synthetic.write(study, tmp_path)
    read = []

    def site(name, code):
        read.clear()
        sources = [Source(s.name, s.title, lambda s=s: read.append(s.name) or s) for s in studies]
        return synthetic.contents(
            build(sources, tmp_path / "results", tmp_path / "store", tmp_path / name, code=code).parent
        )

    first = site("a", "1")
    assert {"one", "two"} <= set(read)
    assert site("a", "1") == first
    assert read == []
    index = (tmp_path / "a" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<article class="card" id="(\w+)"', index)[:3] == ["one", "two", "other"]

    def better(frame):
        scores = [column for column in frame if column.startswith("test/")]
        frame[scores] = frame[scores] * 0.5
        return frame

    synthetic.write(studies[1], tmp_path, better)
    changed = site("a", "1")
    assert set(read) == {"one", "other", "two"}  # the tables over all studies, as nothing is published
    assert changed != first
    assert changed == site("b", "")
    site("a", "2")
    assert "two" in read
