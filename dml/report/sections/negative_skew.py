"""How skewed the drawn negatives are, and the noise rate that the theory tolerates for that skew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.analysis.shares import kept
from dml.report.analysis.skew import skew_of
from dml.report.page.blocks import Block, Paragraph, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns
from dml.report.texts import Texts, joined

say = Texts(__file__)

MISSING = "not measured"


class NegativeSkew:
    """Eta and its bound for each cell."""

    anchor, title = "eta", "How skewed the negatives are drawn"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial that chooses negatives."""
        return any(results.cells[name].negatives for name in results.confirmed["cell"].unique())

    def content(self, results: Results) -> Iterator[Block | None]:
        """What eta is, and a table, folded if nothing was measured."""
        yield Paragraph(say("eta"))
        made = table(results)
        yield made if made.frame["eta"].notna().any() else folded(made)


def table(results: Results) -> Table:
    """One row per cell that chooses negatives."""
    rows = []
    for name, cell in results.cells.items():
        if cell.negatives:
            share = kept(results, name, results.objective(cell.dataset))
            left = float(share.mean()) if cell.rate > 0 and len(share) else np.nan
            rows.append(identity(results, name) | skew_of(results, name) | {"kept": left, "cell": name})
    frame = pd.DataFrame(rows)
    columns = [
        *identity_columns(results),
        Column("eta", "Eta", "number_interval", "with its 95% interval", missing=MISSING),
    ]
    if frame["gamma"].notna().any():
        columns.append(Column("gamma", "Gamma", "number_interval", "of the marginal loss, with its 95% interval"))
    if frame["classes"].notna().any() and frame["bound"].notna().any():
        columns.append(Column("classes", "K", "count", "training classes; unknown: the bound is for infinitely many"))
    if frame["bound"].notna().any():
        columns.append(Column("bound", "Bound", "rate_interval", "the tolerated noise rate, with its 95% interval"))
    caption = say("table", measured=int(frame["eta"].notna().sum()), cells=len(frame))
    if frame["kept"].notna().any():
        columns.append(Column("kept", "Score kept", "percent", "the score in percent of its reference"))
        caption = joined(caption, say("kept"))
    return Table("eta", "Eta and the tolerated noise rate", caption, tuple(columns), frame)
