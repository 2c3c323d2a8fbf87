"""How label noise becomes pair noise (Le, Odobez)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report.figures import style
from dml.report.figures.axes import PercentTicks, label_ends
from dml.report.page.blocks import Block, Drawing, Paragraph
from dml.report.page.tables import Column, Table
from dml.theory import pair_noise

CLASSES = (3, 10, 100)
RATES = np.linspace(0, 0.9, 91)


class PairNoise:
    """The probability that a pair is of the wrong kind."""

    anchor, title = "pairs", "How label noise becomes pair noise"

    def content(self) -> Iterator[Block | None]:
        """A figure and a table."""
        yield Paragraph(
            "A share p of the labels is flipped uniformly over K classes. A positive pair becomes negative with "
            "probability q+, a negative pair becomes positive with probability q-. The label-noise paper prints "
            "1 - 2/(K - 1) in q+, but counting gives 1 - 1/(K - 1); both are shown."
        )
        caption = "Probability that a pair is of the wrong kind. Solid: counted. Dotted: q+ as printed. K: classes."
        alt = "The probability of a wrong pair against the label-noise rate."
        yield Drawing("pairs", _figure(), alt, caption)
        yield _table()


def _table() -> Table:
    rows = [
        {
            "K": k,
            "p": p,
            "q-": pair_noise.negative_to_positive(p, k),
            "q+": pair_noise.positive_to_negative(p, k),
            "q+ as printed": pair_noise.positive_to_negative(p, k, printed=True),
        }
        for k in CLASSES
        for p in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    ]
    columns = (
        Column("K", "Classes", "count"),
        Column("p", "Noise rate", "rate"),
        *(Column(key, key, "number") for key in ("q-", "q+", "q+ as printed")),
    )
    return Table("pairs", "Pair noise", "Probabilities from the formulas.", columns, pd.DataFrame(rows))


def _figure() -> Figure:
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for k, shade in zip(CLASSES, style.THREE, strict=True):
        left.plot(RATES, [pair_noise.positive_to_negative(p, k) for p in RATES], color=shade)
        left.plot(RATES, [pair_noise.positive_to_negative(p, k, printed=True) for p in RATES], ":", color=shade)
        right.plot(RATES, [pair_noise.negative_to_positive(p, k) for p in RATES], color=shade)
    for axes, title, function in (
        (left, "q+: a positive pair becomes negative", pair_noise.positive_to_negative),
        (right, "q-: a negative pair becomes positive", pair_noise.negative_to_positive),
    ):
        axes.set_title(title)
        axes.set_xlim(0, RATES[-1] * 1.22)
        axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8])
        axes.xaxis.set_major_formatter(PercentTicks(1))
        axes.yaxis.set_major_formatter(PercentTicks(1))
        axes.grid(visible=False, axis="x")
        ends = [(function(RATES[-1], k), f"K = {k}", shade) for k, shade in zip(CLASSES, style.THREE, strict=True)]
        label_ends(axes, ends, RATES[-1])
    figure.supxlabel("share of labels that are wrong", color=style.MUTED, fontsize=9)
    return figure
