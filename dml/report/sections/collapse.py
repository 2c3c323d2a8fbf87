"""Class collapse and easy positives: exact expected risks (Levi et al. 2021, theorems 1 and 2, claims 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report.figures import style
from dml.report.figures.axes import label_ends
from dml.report.page.blocks import Block, Drawing, Paragraph
from dml.report.page.tables import Column, Table
from dml.theory import collapse

CHANCES = (0.6, 0.75, 0.9)  # that a label is right
SAMPLES = tuple(range(4, 41, 4))
LOSSES: tuple[Literal["triplet", "margin"], ...] = ("triplet", "margin")  # those that `dml.theory.collapse` computes


class Collapse:
    """The risk of a collapsed embedding against that of an embedding with two modes."""

    anchor, title = "collapse", "Class collapse, and what easy positives change"

    def content(self) -> Iterator[Block | None]:
        """A figure, and where the curves cross."""
        yield Paragraph(
            "Two groups of n / 2 samples; a sample has the label of its group with probability p. With all positives, "
            "the collapsed embedding, in which each group is a point, has the lowest expected risk. With only the "
            "nearest positive, an embedding with two modes in the first group has a lower risk if n is large enough "
            "(Levi et al. 2021, theorems 1 and 2, claims 1 and 2)."
        )
        caption = (
            "Expected risk of the collapsed embedding (dashed) and of the one with two modes (solid) against the "
            "number of samples, for three probabilities p of a right label. Dots: from here on, two modes are better."
        )
        alt = "Expected risk of a collapsed embedding and one with two modes against the number of samples."
        yield Drawing("collapse", _figure(), alt, caption, png=True)
        yield _table()


def _table() -> Table:
    rows = []
    for loss in LOSSES:
        for easy in (False, True):
            c = collapse.curves(CHANCES, SAMPLES, loss, easy=easy)
            for i, p in enumerate(CHANCES):
                row = {"loss": loss, "positives": "easy" if easy else "all", "p": p, "n": c.crossing[i]}
                rows.append(row | {"collapsed": c.collapsed[i, -1], "two modes": c.two_modes[i, -1]})
    columns = (
        Column("loss", "Loss", "name"),
        Column("positives", "Positives", "name"),
        Column("p", "p", "number", "probability of a right label"),
        Column("n", "Crossing at n", "number", "number of samples from which two modes are better"),
        Column("collapsed", f"Risk, collapsed, n = {SAMPLES[-1]}", "number"),
        Column("two modes", f"Risk, two modes, n = {SAMPLES[-1]}", "number"),
    )
    note = f"En dash: the collapsed embedding is better for every n up to {SAMPLES[-1]}."
    return Table("crossing", "Crossing points", note, columns, pd.DataFrame(rows))


def _figure() -> Figure:
    figure = Figure(figsize=(8.2, 5.6), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, squeeze=False)
    for row, loss in enumerate(LOSSES):
        for column, easy in enumerate((False, True)):
            axes, c = grid[row, column], collapse.curves(CHANCES, SAMPLES, loss, easy=easy)
            for i, shade in enumerate(style.THREE):
                axes.plot(c.n, c.collapsed[i], "--", color=shade, linewidth=1.2)
                axes.plot(c.n, c.two_modes[i], color=shade)
                if np.isfinite(c.crossing[i]):
                    height = np.interp(c.crossing[i], c.n, c.two_modes[i])
                    axes.plot(c.crossing[i], height, "o", color=shade, markersize=6)
            axes.set_title(f"{loss}, {'easy positives' if easy else 'all positives'}")
            axes.set_xlim(SAMPLES[0], SAMPLES[-1] * 1.22)
            axes.set_xticks([10, 20, 30, 40])
            axes.set_ylim(bottom=0)
            ends = [(float(c.two_modes[i, -1]), f"p = {p:g}", style.THREE[i]) for i, p in enumerate(CHANCES)]
            label_ends(axes, ends, SAMPLES[-1])
            axes.grid(visible=False, axis="x")
    figure.supxlabel("samples", color=style.MUTED, fontsize=9)
    figure.supylabel("expected risk", color=style.MUTED, fontsize=9)
    return figure
