"""Marks the terms of `dml/report/glossary.yaml` in texts, with what they mean for hover, focus and touch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from markupsafe import Markup, escape

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
    found = [Term(anchor, e["name"], e["says"], tuple(e.get("also", ()))) for anchor, e in content.items()]
    return {term.anchor: term for term in sorted(found, key=lambda term: term.name.lower())}


@cache
def _spellings() -> tuple[re.Pattern[str], dict[str, str]]:
    """Finds each spelling as a whole word, the longest first; and the anchor of each."""
    known = {spelling: term.anchor for term in terms().values() for spelling in (term.name, *term.also)}
    longest = sorted(known, key=lambda spelling: -len(spelling))
    return re.compile(r"(?<![\w@+-])(?:" + "|".join(map(re.escape, longest)) + r")(?![\w@+-])"), known


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
        pattern, known = _spellings()
        parts, end = [], 0
        for found in pattern.finditer(text):
            anchor = known[found[0]]
            if anchor in self._here:
                continue
            self._here.add(anchor)
            self.used[anchor] = terms()[anchor]
            link = '<a class="term" href="{}{}#{}" aria-describedby="means-{}">{}</a>'
            parts += [escape(text[end : found.start()])]
            parts += [Markup(link).format(self._root, PAGE, anchor, anchor, found[0])]
            end = found.end()
        return Markup("").join([*parts, escape(text[end:])])

    def heading(self, label: str) -> str:
        """The anchor of the term that a table's heading is, or an empty text."""
        anchor = _spellings()[1].get(label) or _spellings()[1].get(label.lower(), "")
        if anchor:
            self.used[anchor] = terms()[anchor]
        return anchor
