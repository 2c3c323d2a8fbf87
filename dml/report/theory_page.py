"""The page of theory: what the project's papers prove, computed. It needs no results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dml import discovery
from dml.papers import papers
from dml.report.page.assets import Assets
from dml.report.page.pages import Page, PageSection
from dml.report.sections.protocols import TheorySection


def theory_sections() -> list[TheorySection]:
    """The sections that the papers have, paper by paper."""
    return [discovery.build(paper.package, name) for paper in papers() for name in paper.sections]


def theory_page(root: Path, theory: Sequence[TheorySection]) -> Page:
    """Save the figures and CSV files of the theory page below `root`, and return the page."""
    assets = Assets(root, "_theory")  # no study has this name
    sections = [PageSection(s.anchor, s.title, assets.save(s.content())) for s in theory]
    said = " ".join(filter(None, (paper.computed for paper in papers())))
    return Page(
        "theory",
        "theory.html",
        eyebrow="Theory",
        title="What the papers prove, computed",
        description=[said] if said else [],
        sections=sections,
    )
