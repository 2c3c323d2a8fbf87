"""Which embeddings minimise the expected risk under label noise (Levi et al. 2021, theorems 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import brentq

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.eps.theory import collapse, expected_risk, minimisers
from papers.series import Series, draw
from papers.verdict_statements import stated

ALPHA = 0.2
SETTINGS = ((8, 2), (12, 2), (12, 3), (20, 10))  # samples and groups
CHANCES, WIDTHS = (0.55, 0.7, 0.95), (0.5, 1.0, 5.0)  # p; w in alphas
MANY = (3, 10, 100)  # groups
EQUAL = 1e-12


def risks_of(loss: str, n: int, groups: int, p: float, count: minimisers.Count = "distinct") -> dict[str, float]:
    """Risks in alphas: the least one, the collapsed one, two modes, and simplexes by their width."""
    group, labels = collapse.groups_of(n, groups), collapse.label_probabilities(n, groups, p)
    if loss == "triplet":
        gap, least = 1, minimisers.least_triplet(labels, 1.0)
        risk = partial(minimisers.triplet, probabilities=labels, alpha=1.0, count=count)
    else:
        gap, least = 2, minimisers.least_margin(labels, 1.0)
        risk = partial(minimisers.margin, probabilities=labels, alpha=1.0, count=count, beta=1.0)
    risks = {"least": least, "collapsed": risk(minimisers.simplex(group, 0.0, gap))}
    size = n // groups
    risks["two modes"] = risk(collapse.two_modes(n, groups, gap).distances) if size % 2 == 0 else np.nan
    for width in WIDTHS:
        distances = minimisers.simplex(group, width, width + gap)
        if loss == "triplet":
            risks[f"w = {width:g}"] = minimisers.triplet(distances, labels, 1.0, count)
        else:
            risks[f"w = {width:g}"] = minimisers.margin(distances, labels, 1.0, width + 1, count)
    return risks


@cache
def _ties(loss: str, groups: tuple[int, ...]) -> tuple[bool, float, float, bool]:
    """Collapse has the least risk; a simplex differs by up to; two modes are worse by; collapse wins `proof`."""
    risks = [risks_of(loss, n, t, p) for n, t in SETTINGS if t in groups for p in CHANCES]
    proof = [risks_of(loss, n, t, p, "proof") for n, t in SETTINGS if t in groups for p in CHANCES]
    widths = [f"w = {width:g}" for width in WIDTHS]
    return (
        all(abs(r["collapsed"] - r["least"]) < EQUAL for r in risks),
        max(abs(r[w] - r["collapsed"]) for r in risks for w in widths),
        min(r["two modes"] / r["collapsed"] - 1 for r in risks),
        all(r[w] > r["collapsed"] + EQUAL for r in proof for w in widths),
    )


@cache
def theorem_1() -> TheoryVerdict:
    """Refuted if embeddings that are not collapsed have the least triplet risk too."""
    minimal, tie, modes, proof = _ties("triplet", (2, 3, 10))
    every = risks_of("triplet", 12, 2, 0.7, "all")
    finding = (
        "Collapsed groups have the least risk (n = 8, 12, 20; 2, 3 and 10 groups; p = 0.55, 0.7, 0.95), but simplexes "
        f"of width 0.5, 1 and 5 alpha have the same one (to {max(tie, EQUAL):.0e} alpha). Two modes have at least "
        f"{100 * modes:.1f}% more. If the sum includes j = i, where labels agree surely, collapse even has more risk "
        f"than the simplex of width alpha ({every['collapsed']:.4f} and {every['w = 1']:.4f} alpha for n = 12, p = "
        "0.7); only the proof's count, in which a sample's label is independent of itself, "
        f"{'prefers' if proof else 'does not prefer'} collapse."
    )
    corrected = (
        "The minimisers over distinct samples are the regular simplexes of any width w >= 0 with groups w + alpha "
        "apart; collapse is the only one if the dimension is below n / t - 1 (and at least t - 1), where no simplex "
        "with w > 0 fits."
    )
    return _ruled("eps-theorem-1", minimal, tie, finding, corrected)


@cache
def theorem_2() -> TheoryVerdict:
    """Refuted if embeddings that are not collapsed have the least margin risk too, for two labels."""
    minimal, tie, modes, proof = _ties("margin", (2,))
    labels = collapse.label_probabilities(12, 2, 0.7)
    group = collapse.groups_of(12, 2)
    fixed = [minimisers.margin(minimisers.simplex(group, w, 1.4), labels, ALPHA, 1.2) / ALPHA for w in (0.0, 1.0)]
    finding = (
        "For two labels collapsed groups, 2 alpha apart with beta = alpha, have the least risk (n = 8, 12; p = 0.55, "
        f"0.7, 0.95), but simplexes with beta = w + alpha have the same one (to {max(tie, EQUAL):.0e} alpha). Two "
        f"modes have at least {100 * modes:.1f}% more; with the proof's count of j = i collapse "
        f"{'is the only one' if proof else 'ties too'}. With beta = 1.2 and alpha = 0.2 fixed, as trained, collapse "
        f"has a risk of {fixed[0]:.3f} alpha and the simplex with D = beta - alpha {fixed[1]:.3f} (n = 12, p = 0.7)."
    )
    corrected = (
        "For two labels the minimisers over distinct samples are the regular simplexes with D = w >= 0 within groups, "
        "w + 2 alpha between them and beta = w + alpha; if beta is fixed above alpha, D = beta - alpha within groups."
    )
    return _ruled("eps-theorem-2", minimal and fixed[1] < fixed[0], tie, finding, corrected)


def _ruled(claim: str, minimal: bool, tie: float, finding: str, corrected: str) -> TheoryVerdict:
    """Refuted if another embedding has the same, least risk."""
    if minimal and tie < EQUAL:
        return TheoryVerdict(claim, "refuted", finding, corrected)
    return TheoryVerdict(claim, "confirmed" if minimal else "undecided", finding)


def ratio(loss: str, groups: int, p: float) -> float:
    """The risk of collapse over that of all samples equally far apart, for two samples in a group."""
    n, gap = 2 * groups, 1 if loss == "triplet" else 2
    labels, others = collapse.label_probabilities(n, groups, p), np.arange(1, n)
    in_group = others < 2
    if loss == "margin":  # all anchors are alike
        same = labels[others] @ labels[0]
        return float(2 * np.where(in_group, 1 - same, same).sum() / (2 * same.sum()))
    weights = expected_risk.triplet_weights(labels, 0, others, easy=False)
    near = np.where(in_group, 0.0, gap)
    hinge = np.maximum(near[:, None] - near[None, :] + 1, 0)
    return float((weights * hinge).sum() / weights.sum())


@cache
def more_labels() -> TheoryVerdict:
    """Refuted if for some p > 0.5 all samples far apart have less risk than collapsed groups."""
    turns = [brentq(lambda p, t=t: ratio("margin", t, p) - 1, 0.51, 0.99) for t in MANY]
    agrees = all(abs(p - minimisers.turning(t)) < 1e-9 for p, t in zip(turns, MANY, strict=True))
    triplet = max(ratio("triplet", t, p) for t in MANY for p in np.linspace(0.505, 0.99, 20))
    gaps = [_two_modes_more(p) / (1 - p) for p in (0.9, 0.99, 0.999)]
    finding = (
        f"For the margin loss collapse has more risk than all samples 2 alpha apart if p is below {turns[0]:.3f} (t = "
        f"3), {turns[1]:.3f} (t = 10) and {turns[2]:.3f} (t = 100). For the triplet loss it has less for every p from "
        f"0.505 to 0.99 (ratio at most {triplet:.4f}). As p goes to 1 the best embedding with two modes alpha apart "
        f"loses to collapse by {gaps[0]:.3f}, {gaps[1]:.3f} and {gaps[2]:.3f} times 1 - p (p = 0.9, 0.99, 0.999; in "
        "alphas, two labels): any noise is enough to decide the order, but the difference vanishes with the noise."
    )
    corrected = (
        "Theorem 1's minimisers extend to t labels for every p > 0.5. Theorem 2's extend while p^2 + (1 - p)^2 / (t - "
        "1) > 1/2; below that all samples are best 2 alpha apart."
    )
    refuted = agrees and all(p > 0.51 for p in turns) and triplet < 1
    return TheoryVerdict("eps-t-labels", "refuted" if refuted else "undecided", finding, corrected if refuted else "")


def _two_modes_more(p: float) -> float:
    """The least additional risk of halves of the first group that are alpha apart; n = 12, two groups."""
    labels = collapse.label_probabilities(12, 2, p)
    least = minimisers.least_triplet(labels, 1.0)
    halves = collapse.two_modes(12, 2, 1.0).distances
    foreign = np.not_equal.outer(collapse.groups_of(12, 2), collapse.groups_of(12, 2))
    return min(minimisers.triplet(np.where(foreign, far, halves), labels, 1.0) - least for far in np.linspace(1, 3, 9))


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
    chances, series = np.linspace(0.5, 0.95, 46), []
    for loss in ("triplet", "margin"):
        for groups, shade in zip((2, *MANY), (figures.INK, *figures.THREE), strict=True):
            ratios, name = [ratio(loss, groups, p) for p in chances], f"t = {groups}"
            series.append(Series(f"{loss} loss", name, chances, ratios, color=shade))
            if loss == "margin" and groups > 2:
                dot = {"color": shade, "markersize": 6, "label": ""}
                series.append(Series(f"{loss} loss", f"{name}, turning", minimisers.turning(groups), 1, "o", **dot))
    for axes in panels:
        axes.axhline(1, color=figures.MUTED, linewidth=1)
        axes.set_xlim(0.5, 0.95)
    frame = draw(panels, series)
    axes.set_ylim(0, 2)
    axes.legend(frameon=False)
    figure.supxlabel("p: probability of a right label", color=figures.MUTED, fontsize=9)
    figure.supylabel("risk, collapsed over far apart", color=figures.MUTED, fontsize=9)
    return figure, frame
