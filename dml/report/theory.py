"""The theory's page: what the papers prove, computed by `dml.theory` and drawn. No trial is needed for it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from dml.report import style
from dml.report.content import Page, Section, Writer
from dml.report.table import Column, Table
from dml.theory import bounds, collapse, pair_noise

CHANCES = (0.6, 0.75, 0.9)  # that a label is right
SAMPLES = tuple(range(4, 41, 4))
CLASSES = (3, 10, 100)
RATES = np.linspace(0, 0.9, 91)
SHADES = (style.VERMILION, style.PURPLE, style.BLUE)
LOSSES: tuple[Literal["triplet", "margin"], ...] = ("triplet", "margin")


def theory_page(root: Path) -> Page:
    """Make the theory's figures and CSV files below `root`, and its page."""
    writer = Writer(root, "_theory")  # no study is called so
    sections = [_collapse(writer), _pairs(writer), _bounds(writer)]
    return Page(
        name="theory",
        href="theory.html",
        title="What the papers prove, computed",
        description=[
            "Expected risks are exact sums over all labellings, bounds are solved for finitely many classes; nothing "
            "on this page was trained."
        ],
        facts=[],
        notices=[],
        sections=sections,
        findings=[],
        key=None,
    )


def _collapse(writer: Writer) -> Section:
    text = (
        "Two groups of n / 2 samples; a sample has its own group's label with probability p. Without easy positives "
        "the collapsed embedding, each group a point, has the least expected risk. With the nearest positive only, an "
        "embedding with two modes in the first group does better as soon as there are enough samples (Levi et al. "
        "2021, theorems 1 and 2, claims 1 and 2)."
    )
    caption = (
        "Expected risk of the collapsed embedding (dashed) and of the one with two modes (solid) against the number of "
        "samples, for three probabilities p of the right label. Dots: where two modes become the better ones."
    )
    section = Section("collapse", "Class collapse, and what easy positives change", text)
    alt = "Expected risk of a collapsed embedding and one with two modes against the number of samples."
    section.figures = writer.figure("collapse", _collapse_figure(), alt, caption, png=True)
    rows = []
    for loss in LOSSES:
        for easy in (False, True):
            c = collapse.curves(CHANCES, SAMPLES, loss, easy=easy)
            for row, p in enumerate(CHANCES):
                risks = {"collapsed": c.collapsed[row, -1], "two modes": c.two_modes[row, -1]}
                rows.append(
                    {"loss": loss, "positives": "easy" if easy else "all", "p": p, "n": c.crossing[row], **risks}
                )
    columns = (
        Column("loss", "Loss", "name"),
        Column("positives", "Positives", "name"),
        Column("p", "p", "number", "probability of the right label"),
        Column("n", "Crossing at n", "number", "samples from which two modes are better"),
        Column("collapsed", f"Risk, collapsed, n = {SAMPLES[-1]}", "number"),
        Column("two modes", f"Risk, two modes, n = {SAMPLES[-1]}", "number"),
    )
    note = f"An en dash: the collapsed embedding is the better one for every n up to {SAMPLES[-1]}."
    section.tables = writer.table(Table("crossing", "Crossing points", note, columns, pd.DataFrame(rows)))
    return section


def _collapse_figure() -> Figure:
    figure = Figure(figsize=(8.2, 5.6), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, squeeze=False)
    for row, loss in enumerate(LOSSES):
        for column, easy in enumerate((False, True)):
            axes, c = grid[row, column], collapse.curves(CHANCES, SAMPLES, loss, easy=easy)
            for i, shade in enumerate(SHADES):
                axes.plot(c.n, c.collapsed[i], "--", color=shade, linewidth=1.2)
                axes.plot(c.n, c.two_modes[i], color=shade)
                if np.isfinite(c.crossing[i]):
                    axes.plot(
                        c.crossing[i], np.interp(c.crossing[i], c.n, c.two_modes[i]), "o", color=shade, markersize=6
                    )
            axes.set_title(f"{loss}, {'easy positives' if easy else 'all positives'}")
            axes.set_xlim(SAMPLES[0], SAMPLES[-1] * 1.22)
            axes.set_xticks([10, 20, 30, 40])
            axes.set_ylim(bottom=0)
            ends = [(float(c.two_modes[i, -1]), f"p = {p:g}", SHADES[i]) for i, p in enumerate(CHANCES)]
            style.label_ends(axes, ends, SAMPLES[-1])
            axes.grid(visible=False, axis="x")
    figure.supxlabel("samples", color=style.MUTED, fontsize=9)
    figure.supylabel("expected risk", color=style.MUTED, fontsize=9)
    return figure


def _pairs(writer: Writer) -> Section:
    text = (
        "With a share p of the labels flipped uniformly over K classes, a positive pair becomes a negative one with "
        "probability q+, a negative pair a positive one with q-. The label-noise paper prints 1 - 2/(K - 1) in q+ "
        "where counting gives 1 - 1/(K - 1): both are shown."
    )
    caption = "Probability that a pair is of the wrong kind. Solid: counted. Dotted: q+ as printed. K: classes."
    section = Section("pairs", "How label noise becomes pair noise", text)
    alt = "The probability of a wrong pair against the label-noise rate."
    section.figures = writer.figure("pairs", _pairs_figure(), alt, caption)
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
    note = "Probabilities from the formulae."
    section.tables = writer.table(Table("pairs", "Pair noise", note, columns, pd.DataFrame(rows)))
    return section


def _pairs_figure() -> Figure:
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for k, shade in zip(CLASSES, SHADES, strict=True):
        left.plot(RATES, [pair_noise.positive_to_negative(p, k) for p in RATES], color=shade)
        left.plot(RATES, [pair_noise.positive_to_negative(p, k, printed=True) for p in RATES], ":", color=shade)
        right.plot(RATES, [pair_noise.negative_to_positive(p, k) for p in RATES], color=shade)
    for axes, title, function in (
        (left, "q+: a positive pair turns negative", pair_noise.positive_to_negative),
        (right, "q-: a negative pair turns positive", pair_noise.negative_to_positive),
    ):
        _rates_axis(axes)
        axes.set_title(title)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ends = [(function(RATES[-1], k), f"K = {k}", shade) for k, shade in zip(CLASSES, SHADES, strict=True)]
        style.label_ends(axes, ends, RATES[-1])
    figure.supxlabel("share of labels that are wrong", color=style.MUTED, fontsize=9)
    return figure


def _rates_axis(axes: Axes) -> None:
    axes.set_xlim(0, RATES[-1] * 1.22)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8])
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(visible=False, axis="x")


def _bounds(writer: Writer) -> Section:
    text = (
        "Up to this share of wrong labels the minimiser is that of clean labels. The more a way of choosing tuples "
        "favours some negatives (eta), the less noise it bears: random semi-hard negatives should bear more than "
        "fixed ones."
    )
    caption = "The largest noise rate p for which tolerance is proven. Infinitely many classes, and 10."
    section = Section("bounds", "How much noise a loss is proven to bear", text)
    alt = "The bound on the noise rate against eta for the triplet loss and against gamma for the marginal loss."
    section.figures = writer.figure("bounds", _bounds_figure(), alt, caption)
    etas, gammas = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0), (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
    rows = [
        {"loss": "triplet", "skew": f"eta = {e:g}", "many": bounds.hinge(e), "ten": bounds.hinge(e, 10)} for e in etas
    ]
    rows += [
        {"loss": "marginal", "skew": f"gamma = {g:g}", "many": bounds.marginal(g), "ten": bounds.marginal(g, 10)}
        for g in gammas
    ]
    columns = (
        Column("loss", "Loss", "name"),
        Column("skew", "Skew of the sampling", "name"),
        Column("many", "Infinitely many classes", "rate"),
        Column("ten", "10 classes", "rate"),
    )
    frame = pd.DataFrame(rows)
    section.tables = writer.table(Table("bounds", "Bounds", "The largest noise rate.", columns, frame))
    return section


def _bounds_figure() -> Figure:
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    etas, gammas = np.geomspace(1, 10, 60), np.linspace(0, 1, 60)
    for k, shade, label in ((None, style.BLUE, "many classes"), (10, style.VERMILION, "10 classes")):
        left.plot(etas, [bounds.hinge(eta, k) for eta in etas], color=shade)
        right.plot(gammas, [bounds.marginal(gamma, k) for gamma in gammas], color=shade, label=label)
    left.set_title("triplet loss with hinge and mining")
    right.set_title("marginal loss")
    left.set_xlabel("eta: how much more often the most favoured negatives are drawn")
    right.set_xlabel("gamma: least negative weight over largest positive weight")
    for axes in (left, right):
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_ylim(0, 1)
    right.legend(frameon=False, loc="upper left")
    return figure
