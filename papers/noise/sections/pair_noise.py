"""How label noise becomes pair noise (Le, Odobez)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.figures import PercentTicks
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.noise.theory import pair_noise
from papers.series import Series, draw, label_ends
from papers.verdict_statements import stated

CLASSES = (3, 10, 100)
RATES = np.linspace(0, 0.9, 91)
SIMULATED = tuple(k / 10 for k in range(1, 10))
FAR = 5.0  # standard errors between a formula that is wrong and the simulation; a right one is nearer


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
        yield stated(self.verdicts(), ("Equations 7 and 8",))
        caption = (
            "Probability that a pair is of the wrong kind. Solid: counted. Dotted: q+ as printed. Dots: simulated, "
            "100 000 pairs each. K: classes."
        )
        alt = "The probability of a wrong pair against the label-noise rate."
        yield Drawing("pairs", *_figure(), alt, caption)
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """Both formulae against simulated labels."""
        return [_verdict()]


@cache
def _simulated(p: float, classes: int) -> pair_noise.Simulated:
    return pair_noise.simulate(p, classes, seed=10 * classes + round(10 * p))


@cache
def _verdict() -> TheoryVerdict:
    minus, plus, printed = [], [], []
    for k in CLASSES:
        for p in SIMULATED:
            s = _simulated(p, k)
            minus.append(abs(s.minus - pair_noise.negative_to_positive(p, k)) / s.minus_error)
            plus.append(abs(s.plus - pair_noise.positive_to_negative(p, k)) / s.plus_error)
            printed.append(abs(s.plus - pair_noise.positive_to_negative(p, k, printed=True)) / s.plus_error)
    ten = (
        _simulated(0.5, 10).plus,
        pair_noise.positive_to_negative(0.5, 10),
        pair_noise.positive_to_negative(0.5, 10, True),
    )
    finding = (
        f"At K = 10 and p = 0.5 q+ is {ten[0]:.3f} simulated, {ten[1]:.3f} counted and {ten[2]:.3f} printed. Over K = "
        f"3, 10, 100 and p = 0.1 to 0.9, the printed q+ is up to {max(printed):.0f} standard errors from the "
        f"simulation, the counted one up to {max(plus):.1f}, and q- up to {max(minus):.1f}. With two classes and p = "
        f"0.9 the printed q+ is {pair_noise.positive_to_negative(0.9, 2, True):.2f}, which is no probability."
    )
    right = max(*minus, *plus) < FAR
    corrected = (
        "q- is right. q+ = 2p(1-p) + p^2 (1 - 1/(K-1)): two flipped samples of one class agree again with probability "
        "1/(K-1)."
    )
    if max(printed) > FAR and right:
        return TheoryVerdict("noise-pair-noise", "refuted", finding, corrected)
    return TheoryVerdict("noise-pair-noise", "confirmed" if right else "undecided", finding)


def _table() -> Table:
    rows = [
        {
            "K": k,
            "p": p,
            "q-": pair_noise.negative_to_positive(p, k),
            "q+": pair_noise.positive_to_negative(p, k),
            "q+ as printed": pair_noise.positive_to_negative(p, k, printed=True),
            "q- simulated": _simulated(p, k).minus,
            "q+ simulated": _simulated(p, k).plus,
        }
        for k in CLASSES
        for p in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    ]
    columns = (
        Column("K", "Classes", "count"),
        Column("p", "Noise rate", "rate"),
        *(Column(key, key, "number") for key in ("q-", "q- simulated", "q+", "q+ simulated", "q+ as printed")),
    )
    return Table(
        "pairs",
        "Pair noise",
        "Probabilities from the formulas, and shares of 100 000 simulated pairs.",
        columns,
        pd.DataFrame(rows),
    )


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    plus, minus, series = "q+: a positive pair becomes negative", "q-: a negative pair becomes positive", []
    for k, shade in zip(CLASSES, figures.THREE, strict=True):
        name, simulated = f"K = {k}", [_simulated(p, k) for p in SIMULATED]
        printed = [pair_noise.positive_to_negative(p, k, printed=True) for p in RATES]
        series += [
            Series(plus, name, RATES, [pair_noise.positive_to_negative(p, k) for p in RATES], color=shade),
            Series(plus, f"printed, {name}", RATES, printed, ":", color=shade),
            Series(minus, name, RATES, [pair_noise.negative_to_positive(p, k) for p in RATES], color=shade),
            Series(plus, f"simulated, {name}", SIMULATED, [s.plus for s in simulated], "o", color=shade),
            Series(minus, f"simulated, {name}", SIMULATED, [s.minus for s in simulated], "o", color=shade),
        ]
    frame = draw(panels, series)
    functions = (pair_noise.positive_to_negative, pair_noise.negative_to_positive)
    for axes, function in zip(panels, functions, strict=True):
        axes.set_xlim(0, RATES[-1] * 1.22)
        axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8])
        axes.xaxis.set_major_formatter(PercentTicks(1))
        axes.yaxis.set_major_formatter(PercentTicks(1))
        axes.grid(visible=False, axis="x")
        ends = [(function(RATES[-1], k), f"K = {k}", shade) for k, shade in zip(CLASSES, figures.THREE, strict=True)]
        label_ends(axes, ends, RATES[-1])
    figure.supxlabel("share of labels that are wrong", color=figures.MUTED, fontsize=9)
    return figure, frame
