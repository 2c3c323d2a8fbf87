"""What a section provides. Each is built without arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from dml.report.page.blocks import Block
from dml.report.results import Results


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


@dataclass(frozen=True)
class TheoryVerdict:
    """What a computation says about a claim of a paper, always made from computed numbers."""

    claim: str  # the claim's id, `<paper>-<slug>`
    verdict: Literal["confirmed", "refuted", "undecided"]
    finding: str  # one or two sentences with the numbers
    corrected: str = ""  # the statement that holds instead, if the printed one does not


class TheorySection(Protocol):
    """A section of the theory page, in `papers/<paper>/sections/`."""

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
