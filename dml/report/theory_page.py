"""The page of theory: what the project's papers prove, computed. It needs no results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dml import discovery
from dml.papers import papers
from dml.report.page.assets import Assets
from dml.report.page.blocks import Block
from dml.report.page.pages import Page, PageSection
from dml.report.sections.protocols import TheorySection, TheoryVerdict, VerdictSection


@dataclass
class Proved:
    """A section whose verdicts are computed, for the page of claims."""

    anchor: str
    title: str
    decided: list[TheoryVerdict]

    @classmethod
    def of(cls, section: TheorySection) -> Proved:
        """What a section decides."""
        decided = section.verdicts() if isinstance(section, VerdictSection) else []
        return cls(section.anchor, section.title, decided)

    def content(self) -> Iterator[Block | None]:
        """Nothing: the page of theory has it."""
        yield from ()

    def verdicts(self) -> list[TheoryVerdict]:
        """The verdicts."""
        return self.decided


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
