"""Class collapse and easy positives: exact expected risks (Levi et al. 2021, theorems 1 and 2, claims 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.eps.theory import collapse, crossing
from papers.series import Series, draw, label_ends
from papers.verdict_statements import stated

CHANCES = (0.6, 0.75, 0.9)  # that a label is right
SAMPLES = tuple(range(4, 41, 4))
GROUPS, MOST = ((2, 1000), (3, 1000)), ((10, 2000),)  # groups, and the largest number of samples; MOST: one p only
BETAS = (-0.5, 0.0, 1.0, 2.0)  # in alphas
LOSSES: tuple[Literal["triplet", "margin"], ...] = (
    "triplet",
    "margin",
)  # those that `papers.eps.theory.collapse` computes


class Collapse:
    """The risk of a collapsed embedding against that of an embedding with two modes."""

    anchor, title = "collapse", "Class collapse, and what easy positives change"

    def content(self) -> Iterator[Block | None]:
        """A figure, and where the curves cross."""
        yield Paragraph(
            "Two groups of n / 2 samples; a sample has the label of its group with probability p. With all positives, "
            "no embedding has a lower expected risk than the collapsed one, in which each group is a point. With only "
            "the nearest positive, an embedding with two modes in the first group has a lower risk if n is large "
            "enough (Levi et al. 2021, theorems 1 and 2, claims 1 and 2)."
        )
        yield stated(self.verdicts(), ("Claim 1, triplet", "Claim 2, margin"))
        caption = (
            "Expected risk of the collapsed embedding (dashed) and of the one with two modes (solid) against the "
            "number of samples, for three probabilities p of a right label. Dots: from here on, two modes are better."
        )
        alt = "Expected risk of a collapsed embedding and one with two modes against the number of samples."
        yield Drawing("collapse", *_figure(), alt, caption)
        yield _table()
        yield _proofs()

    def verdicts(self) -> list[TheoryVerdict]:
        """For claims 1 and 2, by exact sums up to a thousand samples and more."""
        return [_claim_1(), _claim_2()]


@cache
def _crossings() -> pd.DataFrame:
    """The n from which two modes are better, by loss, groups and p, and the M of the proof."""
    settings = [(t, p, most) for t, most in GROUPS for p in CHANCES] + [(t, CHANCES[0], most) for t, most in MOST]
    proven = {"triplet": crossing.proven_for_triplet, "margin": crossing.proven_for_margin}
    rows = [
        {"loss": loss, "t": t, "p": p, "n": crossing.crossing(t, p, loss, most), "M": proven[loss](t, p), "most": most}
        for loss in LOSSES
        for t, p, most in settings
    ]
    return pd.DataFrame(rows).astype({"n": float})


@cache
def _claim_1() -> TheoryVerdict:
    crossings = _crossings().query("loss == 'triplet'")
    two, three, many = crossings.query("t == 2"), crossings.query("t == 3"), crossings.iloc[-1]
    holds = bool(crossings["n"].notna().all() and (two["n"] <= two["M"]).all())
    finding = (
        f"Two modes have the lower risk for every n from {_texts(two['n'])} to {GROUPS[0][1]} (two labels, p = "
        f"{_texts(two['p'])}; the proof's M, its slips corrected: {_texts(two['M'])}), from "
        f"{_texts(three['n'])} with three labels, and from {many['n']:g} with {many['t']} labels and "
        f"p = {many['p']:g}."
    )
    if many["n"] > many["M"]:
        finding += (
            f" There the proof's M, {many['M']:g}, is too small: its bound 2 p^(j - 1) on the chance that all nearer "
            "samples have other labels is for two labels."
        )
    return TheoryVerdict("eps-claim-1", "confirmed" if holds else "undecided", finding)


@cache
def _claim_2() -> TheoryVerdict:
    crossings = _crossings().query("loss == 'margin'")
    two = crossings[crossings["t"] == 2]
    by_beta = [crossing.crossing(2, CHANCES[1], "margin", beta=beta) for beta in BETAS]
    holds = bool(crossings["n"].notna().all() and (crossings["n"] <= crossings["M"]).all()) and None not in by_beta
    finding = (
        f"With beta = alpha two modes have the lower risk for every n from {_texts(two['n'])} to {GROUPS[0][1]} (two "
        f"labels, p = {_texts(two['p'])}; the proof's M: {_texts(two['M'])}), and for p = {CHANCES[1]:g} with beta = "
        f"{_texts(BETAS)} alpha from {_texts(by_beta)}."
    )
    if crossing.crossing(2, CHANCES[1], "margin", beta=-1.0) is None:
        finding += (
            " At beta = -alpha, which the paper does not exclude, no negative of the class has loss and one mode is "
            "the better one, by an amount that vanishes with n."
        )
    return TheoryVerdict("eps-claim-2", "confirmed" if holds else "undecided", finding)


def _texts(values: object) -> str:
    return ", ".join(f"{value:g}" for value in values)  # type: ignore[attr-defined]


def _proofs() -> Table:
    columns = (
        Column("loss", "Loss", "name"),
        Column("t", "Labels", "count"),
        Column("p", "p", "number", "probability of a right label"),
        Column("n", "Two modes are better from n", "number"),
        Column("M", "M of the proof", "number", "with its slips corrected; derived for two labels"),
        Column("most", "Computed up to n", "count"),
    )
    note = "Easy positives. Points alpha apart, margin loss with beta = alpha, as the paper's f1 and f2."
    return Table("claims-1-2", "Claims 1 and 2", note, columns, _crossings())


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


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 5.6), layout="constrained")
    panels = list(figure.subplots(2, 2, sharex=True).flat)
    names, series, ends = [f"p = {p:g}" for p in CHANCES], [], []
    for loss, easy in product(LOSSES, (False, True)):
        c = collapse.curves(CHANCES, SAMPLES, loss, easy=easy)
        panel = f"{loss}, {'easy positives' if easy else 'all positives'}"
        for i, (name, shade) in enumerate(zip(names, figures.THREE, strict=True)):
            series.append(Series(panel, f"collapsed, {name}", c.n, c.collapsed[i], "--", color=shade, linewidth=1.2))
            series.append(Series(panel, f"two modes, {name}", c.n, c.two_modes[i], color=shade))
            if np.isfinite(c.crossing[i]):
                height = np.interp(c.crossing[i], c.n, c.two_modes[i])
                series.append(Series(panel, f"crossing, {name}", c.crossing[i], height, "o", color=shade, markersize=6))
        ends.append(list(zip(map(float, c.two_modes[:, -1]), names, figures.THREE, strict=True)))
    frame = draw(panels, series)
    for axes, end_labels in zip(panels, ends, strict=True):
        axes.set_xlim(SAMPLES[0], SAMPLES[-1] * 1.22)
        axes.set_xticks([10, 20, 30, 40])
        axes.set_ylim(bottom=0)
        label_ends(axes, end_labels, SAMPLES[-1])
        axes.grid(visible=False, axis="x")
    figure.supxlabel("samples", color=figures.MUTED, fontsize=9)
    figure.supylabel("expected risk", color=figures.MUTED, fontsize=9)
    return figure, frame
