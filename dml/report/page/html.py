"""Renders pages as HTML files that need nothing but their own folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from dml.report.page.assets import SavedBlock, SavedDrawing
    from dml.report.recommendation import Outcome

FILE = Path(__file__).parents[1] / "glossary.yaml"
PAGE = "glossary.html"


@dataclass(frozen=True)
class Term:
    """One entry."""

    anchor: str
    name: str
    says: str
    also: tuple[str, ...] = ()


@cache
def terms() -> dict[str, Term]:
    """All terms by their anchors, in alphabetical order."""
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    entries = [Term(anchor, e["name"], e["says"], tuple(e.get("also", ()))) for anchor, e in content.items()]
    return {term.anchor: term for term in sorted(entries, key=lambda term: term.name.lower())}


@cache
def _spellings() -> tuple[re.Pattern[str], dict[str, str]]:
    """Finds each spelling as a whole word, the longest first; and the anchor of each."""
    anchors = {spelling: term.anchor for term in terms().values() for spelling in (term.name, *term.also)}
    longest = sorted(anchors, key=lambda spelling: -len(spelling))
    return re.compile(r"(?<![\w@+-])(?:" + "|".join(map(re.escape, longest)) + r")(?![\w@+-])"), anchors


class Marker:
    """Marks the terms of one page: the first time that each occurs in a section."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._here: set[str] = set()
        self.used: dict[str, Term] = {}

    def section(self) -> str:
        """Begin a section. Returns an empty text, for templates."""
        self._here.clear()
        return ""

    def mark(self, text: str) -> Markup:
        """A text as HTML, with a link to the glossary for each term that is new in this section."""
        pattern, anchors = _spellings()
        parts, end = [], 0
        for match in pattern.finditer(text):
            anchor = anchors[match[0]]
            if anchor in self._here:
                continue
            self._here.add(anchor)
            self.used[anchor] = terms()[anchor]
            link = '<a class="term" href="{}{}#{}" aria-describedby="means-{}">{}</a>'
            parts += [escape(text[end : match.start()])]
            parts += [Markup(link).format(self._root, PAGE, anchor, anchor, match[0])]
            end = match.end()
        return Markup("").join([*parts, escape(text[end:])])

    def heading(self, label: str) -> str:
        """The anchor of the term that a table's heading is, or an empty text."""
        anchor = _spellings()[1].get(label) or _spellings()[1].get(label.lower(), "")
        if anchor:
            self.used[anchor] = terms()[anchor]
        return anchor


@dataclass(frozen=True)
class PageSection:
    """A heading and the blocks below it."""

    anchor: str
    title: str
    blocks: list[SavedBlock]
    mark: str = ""  # beside the title: `not tuned`


@dataclass(frozen=True)
class Notice:
    """A line at the head of a page about what is missing or wrong."""

    text: str
    bad: bool = False
    on_card: bool = True  # on the index too


@dataclass(frozen=True)
class Page:
    """Everything that the templates show of one page, and its card on the index."""

    name: str
    href: str
    eyebrow: str  # small print above the title
    title: str
    description: Sequence[str]  # paragraphs
    sections: Sequence[PageSection]
    facts: Sequence[tuple[str, str, str]] = ()  # label, value, smaller print
    notices: Sequence[Notice] = ()
    key: SavedDrawing | None = None  # the key figure, on the index
    waiting: bool = False  # no trial has finished
    verdict: Outcome | None = None  # on the study, at the top of the page and of its card
    here: bool = False  # the study ran in this project


FEW = 3  # studies, which need no list on the index
ASSETS = {"report.css": ("style.css", "print.css"), "report.js": ("table.js", "scroll.js", "terms.js")}
TEMPLATES = Path(__file__).with_name("templates")


def environment(package: str, escaped: bool | Callable[[str | None], bool] = True) -> Environment:
    """For the templates of a package. Texts are escaped, in all or by a template's name; unknown names are errors."""
    loader, unknown = PackageLoader(package), StrictUndefined
    return Environment(loader=loader, autoescape=escaped, undefined=unknown, trim_blocks=True, lstrip_blocks=True)


class Renderer:
    """Writes pages below the site's root."""

    def __init__(self, root: Path, claims: Page | bool = False, theory: Page | bool = False) -> None:
        self._root = root
        self._environment = environment("dml.report.page")
        self._environment.globals |= {"claims": claims, "theory": theory}  # every page leads to them

    def page(self, page: Page) -> None:
        """Write one page at its `href`."""
        self._write(page.href, "page.html", page=page, root="../" * page.href.count("/"))

    def index(self, studies: Sequence[Page], overview: Sequence[SavedBlock] = (), tuning: str = "") -> None:
        """Write `index.html`: an overview, and a card for each page; studies that have no results yet come last."""
        pages = sorted(studies, key=lambda page: page.waiting)
        shown = {"pages": pages, "overview": overview, "tuning": tuning}
        self._write("index.html", "index.html", **shown, few=FEW, root="")

    def shared(self) -> None:
        """Write what all pages share: `assets/` and `glossary.html`."""
        assets = self._root / "assets"
        assets.mkdir(parents=True, exist_ok=True)
        for name, files in ASSETS.items():
            text = "\n".join((TEMPLATES / file).read_text(encoding="utf-8") for file in files)
            (assets / name).write_text(text, encoding="utf-8")
        self._write("glossary.html", "glossary.html", entries=terms().values(), root="")

    def _write(self, href: str, template: str, **values: object) -> None:
        path = self._root / href
        path.parent.mkdir(parents=True, exist_ok=True)
        text = self._environment.get_template(template).render(terms=Marker(str(values["root"])), **values)
        path.write_text(text, encoding="utf-8")
