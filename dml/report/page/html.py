"""Renders pages as HTML files that need nothing but their own folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from dml.report.page.assets import SavedBlock
from dml.report.page.glossary import Marker, terms
from dml.report.page.pages import Page

FEW = 3  # studies, which need no list on the index
ASSETS = {"report.css": ("style.css", "print.css"), "report.js": ("table.js", "scroll.js", "terms.js")}
TEMPLATES = Path(__file__).with_name("templates")


def environment(package: str) -> Environment:
    """For the templates of a package: texts are escaped, and an unknown name is an error."""
    return Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


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
        """Write `index.html`: an overview, and a card for each page; studies that have no results yet come last.

        Parameters
        ----------
        tuning : what marks such as `not tuned` mean; empty if nothing is marked.
        """
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
