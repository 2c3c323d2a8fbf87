"""Renders pages as HTML files that need nothing but their own folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dml.report.page.pages import Page

TEMPLATES = Path(__file__).with_name("templates")


class Renderer:
    """Writes pages below the site's root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._environment = Environment(
            loader=PackageLoader("dml.report.page"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        for name, file in (("css", "style.css"), ("js", "table.js")):
            self._environment.globals[name] = Markup((TEMPLATES / file).read_text(encoding="utf-8"))

    def page(self, page: Page) -> None:
        """Write one page at its `href`."""
        self._write(page.href, "page.html", page=page, root="../" * page.href.count("/"))

    def index(self, studies: Sequence[Page], claims: Page, theory: Page) -> None:
        """Write `index.html`, with a card for each page."""
        self._write("index.html", "index.html", pages=studies, claims=claims, theory=theory, root="")

    def _write(self, href: str, template: str, **values: object) -> None:
        path = self._root / href
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._environment.get_template(template).render(**values), encoding="utf-8")
