"""Which embeddings minimise the expected risk under label noise (Levi et al. 2021, theorems 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.figures import Series, draw
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.eps.theory import minimisers
from papers.eps.verdicts.of_minimisers import MANY, WIDTHS, more_labels, ratio, risks_of, theorem_1, theorem_2
from papers.verdict_statements import stated


class Minimisers:
    """Collapse is not the only minimiser, and not one for three labels and more noise."""

    anchor, title = "minimisers", "Which embeddings minimise the risk under label noise"

    def content(self) -> Iterator[Block | None]:
        """Verdicts, a figure and a table."""
        yield Paragraph(
            "All positives. A sample has its group's label with probability p. The least expected risk of any "
            "embedding is known exactly, since each pair of opposed terms has its own least value. Collapsed groups "
            "attain it, but so does the regular simplex: all samples of a group the same distance w apart, and groups "
            "w + alpha (triplet) or w + 2 alpha (margin, beta = w + alpha) apart, for any w."
        )
        yield stated(self.verdicts(), ("Theorem 1, triplet", "Theorem 2, margin", "More than two labels"))
        caption = (
            "Least risk of collapsed groups over that of an embedding with all samples equally far apart. Above 1, "
            "collapse has more risk: for the margin loss, with t groups, where p is left of the dot."
        )
        alt = "The ratio of two expected risks against the probability of a right label, for 2 to 100 groups."
        yield Drawing("minimisers", *_figure(), alt, caption)
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """For both theorems, and for more than two labels."""
        return [theorem_1(), theorem_2(), more_labels()]


def _table() -> Table:
    rows = []
    for loss in ("triplet", "margin"):
        for count in ("distinct", "all", "proof"):
            rows.append({"loss": loss, "count": count} | risks_of(loss, 12, 2, 0.7, count))
    columns = (
        Column("loss", "Loss", "name"),
        Column("count", "Counted", "name", "which triples or pairs of samples are summed"),
        Column("collapsed", "Collapsed", "number"),
        *(Column(f"w = {w:g}", f"Simplex, w = {w:g} alpha", "number") for w in WIDTHS),
        Column("two modes", "Two modes", "number"),
    )
    note = (
        "Expected risk in alphas, 12 samples in two groups, p = 0.7. Counted: over distinct samples, as in training; "
        "over all, with j = i, as the sums are printed; as the proof computes j = i, as if independent of i."
    )
    return Table("minimisers", "Risks of minimisers", note, columns, pd.DataFrame(rows))


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    chances, found = np.linspace(0.5, 0.95, 46), []
    for loss in ("triplet", "margin"):
        for groups, shade in zip((2, *MANY), (figures.INK, *figures.THREE), strict=True):
            ratios, name = [ratio(loss, groups, p) for p in chances], f"t = {groups}"
            found.append(Series(f"{loss} loss", name, chances, ratios, color=shade))
            if loss == "margin" and groups > 2:
                dot = {"color": shade, "markersize": 6, "label": ""}
                found.append(Series(f"{loss} loss", f"{name}, turning", minimisers.turning(groups), 1, "o", **dot))
    for axes in panels:
        axes.axhline(1, color=figures.MUTED, linewidth=1)
        axes.set_xlim(0.5, 0.95)
    frame = draw(panels, found)
    axes.set_ylim(0, 2)
    axes.legend(frameon=False)
    figure.supxlabel("p: probability of a right label", color=figures.MUTED, fontsize=9)
    figure.supylabel("risk, collapsed over far apart", color=figures.MUTED, fontsize=9)
    return figure, frame
