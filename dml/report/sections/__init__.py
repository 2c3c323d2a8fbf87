'''The sections of the report's pages: one file, one class, with its figure, its table and its captions together.

To add a section, write a file here and add its name to a list in `dml/report/contents.py`. The file's name in CamelCase
is the class; `protocols.py` says what a class provides. A complete section, `seed_spread.py`:

    """Which methods depend most on the seed."""

    from __future__ import annotations

    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.figure import Figure

    from dml.report.page.blocks import Block, Drawing
    from dml.report.page.tables import Column, Table
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
`seed_spread.yaml` beside the file (`dml/report/texts.py`). A file whose name begins with an underscore is a helper.

Sections of the theory page are the papers' (`dml/papers.py`); `protocols.py` has their members too.
'''
