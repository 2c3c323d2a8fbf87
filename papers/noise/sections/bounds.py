"""How much label noise a loss provably tolerates (Le, Odobez, eq. 22 to 27 and 37)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.figures import PercentTicks
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from papers.noise.theory import skew
from papers.series import Series, draw

ETAS, GAMMAS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0), (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
CLASSES = 10  # of the finite case


class Bounds:
    """The largest noise rate for which tolerance is proven."""

    anchor, title = "bounds", "How much noise a loss provably tolerates"

    def content(self) -> Iterator[Block | None]:
        """A figure and a table."""
        yield Paragraph(
            "Below this share of wrong labels, the loss has the same minimiser as with clean labels. The more a "
            "sampler favours some negatives (eta), the less noise is tolerated: random semi-hard negatives should "
            "tolerate more than fixed ones."
        )
        caption = (
            f"The largest noise rate p for which tolerance is proven, for infinitely many classes and for {CLASSES}."
        )
        alt = "The bound on the noise rate against eta for the triplet loss and against gamma for the marginal loss."
        yield Drawing("bounds", *_figure(), alt, caption)
        yield _table()


def _table() -> Table:
    rows = [("triplet", f"eta = {e:g}", skew.hinge(e), skew.hinge(e, CLASSES)) for e in ETAS]
    rows += [("marginal", f"gamma = {g:g}", skew.marginal(g), skew.marginal(g, CLASSES)) for g in GAMMAS]
    columns = (
        Column("loss", "Loss", "name"),
        Column("skew", "Skew of the sampling", "name"),
        Column("many", "Infinitely many classes", "rate"),
        Column("ten", f"{CLASSES} classes", "rate"),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return Table("bounds", "Bounds", "The largest tolerated noise rate.", columns, frame)


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    etas, gammas, series = np.geomspace(1, 10, 60), np.linspace(0, 1, 60), []
    for k, shade, name in ((None, figures.BLUE, "many classes"), (CLASSES, figures.VERMILION, f"{CLASSES} classes")):
        hinge, marginal = [skew.hinge(eta, k) for eta in etas], [skew.marginal(gamma, k) for gamma in gammas]
        series.append(Series("triplet loss with hinge and mining", name, etas, hinge, color=shade))
        series.append(Series("marginal loss", name, gammas, marginal, color=shade))
    frame = draw((left, right), series)
    left.set_xlabel("eta: how much more often the most\nfavoured negatives are drawn")
    right.set_xlabel("gamma: smallest negative weight\nover largest positive weight")
    for axes in (left, right):
        axes.yaxis.set_major_formatter(PercentTicks(1))
        axes.set_ylim(0, 1)
    right.legend(frameon=False, loc="upper left")
    return figure, frame
