"""The unhinged losses under label noise: the bound, and what minimises the risk (Le, Odobez, sections 4.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.figures import PercentTicks, Series, draw
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.noise.theory import skew
from papers.noise.verdicts.of_tolerance import CLASSES, RATES, SAMPLES, TRIED, best_found, marginal, proposition_1
from papers.verdict_statements import stated


class Tolerance:
    """Proposition 1, tried empirically, and the unhinged marginal loss."""

    anchor, title = "unhinged", "What the unhinged losses tolerate"

    def content(self) -> Iterator[Block | None]:
        """Verdicts, a figure and a table."""
        yield Paragraph(
            "One negative for each positive pair, on the unit sphere. Under noise the expected unhinged risk is a sum "
            "over positive pairs times a multiplier, minus a sum over negative pairs times another. While both "
            "multipliers are positive, the classes at the corners of a regular simplex are the minimiser, as without "
            "noise. The paper weighs a negative pair by 1/K; with large classes it is drawn with probability 1/(K - "
            "1)."
        )
        yield stated(self.verdicts(), ("Proposition 1", "The unhinged marginal loss"))
        caption = (
            "Left: the bound against the number of classes K; dotted: 1 - 1/sqrt(K). The others: mean distances in "
            f"the best embedding that descents over free points find, {TRIED} classes of {SAMPLES} samples. With the "
            "weight 1/K all samples meet at one point above the bound (dashed). With 1/(K - 1) the simplex remains on "
            "both sides of 1 - 1/K (dashed), where the risk is constant."
        )
        alt = "The tolerated noise rate against the number of classes, and distances in the minimiser against the rate."
        yield Drawing("unhinged", *_figure(), alt, caption)
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """For proposition 1, and for the marginal loss that equals the triplet loss."""
        return [proposition_1(), marginal()]


def _table() -> Table:
    rows = [
        {
            "K": k,
            "bound": skew.unhinged(k),
            "eps": 1 - skew.unhinged(k),
            "root": (1 - skew.unhinged(k)) * np.sqrt(k),
            "balanced": 1 - 1 / k,
        }
        for k in CLASSES
    ]
    columns = (
        Column("K", "Classes K", "count"),
        Column("bound", "Bound, weight 1/K", "rate"),
        Column("eps", "eps(K)", "number", "1 minus the bound"),
        Column("root", "eps(K) sqrt(K)", "number"),
        Column("balanced", "Constant risk, weight 1/(K - 1)", "rate", "the only p at which the minimisers change"),
    )
    return Table("unhinged", "The bound by classes", "Exact q+ and q-.", columns, pd.DataFrame(rows))


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    left, *pair = figure.subplots(1, 3)
    classes = np.unique(np.geomspace(2, CLASSES[-1], 60).astype(int))
    title, unhinged = "tolerated noise rate", [skew.unhinged(int(k)) for k in classes]
    found = [
        Series(title, "weight 1/K", classes, unhinged, color=figures.BLUE),
        Series(title, "1 - 1/sqrt(K)", classes, 1 - 1 / np.sqrt(classes), ":", color=figures.BLUE, label=""),
        Series(title, "1/(K - 1): risk constant", classes, 1 - 1 / classes, color=figures.VERMILION),
    ]
    for balanced, name in ((False, "1/K"), (True, "1/(K - 1)")):
        best, title = [best_found(p, balanced) for p in RATES], f"distances, weight {name}"
        found.append(Series(title, "between classes", RATES, [f.between for f in best], "o-", color=figures.BLUE))
        found.append(Series(title, "within a class", RATES, [f.within for f in best], "s-", color=figures.VERMILION))
    frame = draw((left, *pair), found)
    left.set_xscale("log")
    left.minorticks_off()
    left.set_ylim(0, 1.02)
    left.set_xlabel("classes")
    left.yaxis.set_major_formatter(PercentTicks(1))
    left.legend(frameon=False, loc="lower right", fontsize=8)
    for axes, mark in zip(pair, (skew.unhinged(TRIED), 1 - 1 / TRIED), strict=True):
        axes.axvline(mark, linestyle="--", color=figures.MUTED, linewidth=1)
        axes.set_xlabel("share of wrong labels")
        axes.xaxis.set_major_formatter(PercentTicks(1))
        axes.set_ylim(-0.08, 2)
    pair[1].legend(frameon=False, fontsize=8, loc="center left")
    return figure, frame
