"""A page of pictures: the key figure of each published study, and the report itself where it is built."""

import html
import re
from pathlib import Path

from markdown.extensions.toc import slugify

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "report"
PAPERS = tuple(f"{path.parent.name}-" for path in ROOT.glob("papers/*/paper.yaml"))
FIGURE = re.compile(
    r"^### (?P<title>.+?)$(?:(?!^### ).)*?^!\[(?P<alt>.+?)\]\((?P<path>figures/results/(?P<study>[\w-]+?)\.png)\)",
    re.M | re.S,
)


def page(results: str, built: bool) -> str:
    """The page in Markdown; `built` if the report is beside it."""
    studies = results.partition("\n## The studies\n")[2].partition("\n## ")[0]
    found = [match.groupdict() for match in FIGURE.finditer(studies)]
    papers = [one for one in found if one["study"].startswith(PAPERS)]
    said = (
        "[The report](report/index.html) has all pages."
        if built
        else "`make report docs` adds the report's pages to this site."
    )
    head = f"# Gallery\n\nThe key figure of each published study; each leads to its numbers. {said}\n"
    own = [one for one in found if one not in papers]
    return "\n".join([head, "## Studies of ours\n", _grid(own), "## Studies of the papers\n", _grid(papers)])


def _grid(found: list[dict[str, str]]) -> str:
    items = [
        f'<li><a href="results.html#{slugify(one["title"], "-")}"><img src="{one["path"]}" loading="lazy" '
        f'alt="{html.escape(one["alt"])}"><span>{html.escape(one["title"])}</span></a></li>'
        for one in found
    ]
    return "\n".join(['<ul class="gallery">', *items, "</ul>\n"])
