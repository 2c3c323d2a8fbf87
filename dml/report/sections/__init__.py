'''The sections of the report's pages: one file, one class, with its figure, its table and its captions together.

To add a section, write a file here and add its name to a list in `dml/report/assembly.py`. The file's name in CamelCase
is the class; `Section` below says what a class provides. A complete section, `seed_spread.py`:

    """Which methods depend most on the seed."""

    from __future__ import annotations

    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.figure import Figure

    from dml.report.page.blocks import Block, Column, Drawing, Table
    from dml.report.results import Results


    class SeedSpread:
        """The range of each method's scores over seeds."""

        anchor, title = "seed-spread", "Spread over seeds"

        def applies(self, results: Results) -> bool:
            """At least two seeds."""
            return len(results.study.blocks) > 1 and not results.confirmed.empty

        def content(self, results: Results) -> Iterator[Block | None]:
            """A histogram and a table."""
            rows = []
            for name, cell in results.cells.items():
                scores = results.values(name, results.objective(cell.dataset))  # percent, indexed by seed
                rows.append({"method": results.methods[name].label, "range": scores.max() - scores.min()})
            frame = pd.DataFrame(rows)
            figure = Figure(figsize=(5, 2.5), layout="constrained")
            figure.subplots().hist(frame["range"].dropna())
            note = "Highest minus lowest score over seeds, in points."
            yield Drawing("seed-spread", figure, frame, "Histogram of ranges.", note)
            columns = (Column("method", "Method", "name"), Column("range", "Range", "difference"))
            yield Table("seed-spread", "Ranges", note, columns, frame)

A block that is None, or a drawing without a figure, is left out. Captions of more than a few words are in
`seed_spread.yaml` beside the file (`dml/report/labels.py`). A file whose name begins with an underscore is a helper.

Sections of the theory page are the papers' (`dml/papers.py`); `TheorySection` has their members.
'''

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
