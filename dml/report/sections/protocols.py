"""What a section provides. Each is built without arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from dml.report.page.blocks import Block
from dml.report.results import Results
from dml.theory.verdicts import TheoryVerdict


class Section(Protocol):
    """A section of a study's page."""

    anchor: str  # of its heading, unique on the page: `studies/quickstart.html#winners`
    title: str

    def applies(self, results: Results) -> bool:
        """Whether a study with these results has this section. Cheap: nothing is drawn."""
        ...

    def content(self, results: Results) -> Iterator[Block | None]:
        """The blocks in order; None is left out. A section without blocks is left out too."""
        ...


@runtime_checkable
class CardSection(Protocol):
    """A section that also contributes to the study's card on the index."""

    def card(self, results: Results) -> Iterator[Block | None]:
        """The blocks on the card. They must be small; a table or a drawing is saved a second time."""
        ...


class TheorySection(Protocol):
    """A section of the theory page."""

    anchor: str
    title: str

    def content(self) -> Iterator[Block | None]:
        """The blocks in order."""
        ...


@runtime_checkable
class VerdictSection(Protocol):
    """A section of the theory page that also decides claims of the papers."""

    def verdicts(self) -> list[TheoryVerdict]:
        """The verdicts, made from computed numbers."""
        ...
