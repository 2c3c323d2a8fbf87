"""Which embeddings have no loss on clean labels (Levi et al. 2021, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers import free_points
from papers.eps.theory import clean_risk
from papers.series import Series, draw
from papers.verdict_statements import stated

ALPHA = 0.2
STARTS, EMBEDDINGS = 6, 300
LINES = ((0.0, 0.0), (1.0, 0.5), (1.0, 2.0), (1.0, 3.0), (0.0, 2.0))  # diameter and gap, in alphas
NONE = 1e-12  # a risk below it is 0


class ZeroLoss:
    """The contrastive loss collapses classes; triplet and margin loss need not."""

    anchor, title = "zero-loss", "Which embeddings have no loss on clean labels"

    def content(self) -> Iterator[Block | None]:
        """Verdicts, a figure and a table."""
        yield Paragraph(
            "Two classes of points on a line, with the same diameter. D is the squared distance, as in the paper. The "
            "paper states that a diameter below 2 alpha + gap is enough for a triplet risk of 0, and with beta = alpha "
            "for a margin risk of 0. One point for all samples fulfils this and has loss."
        )
        yield stated(self.verdicts(), ("Contrastive loss collapses every class", "Embeddings without loss"))
        caption = (
            "Green: the computed risk is 0. Dashed: the printed condition holds below this line. Solid: the corrected "
            "condition holds below this line. Dot: all samples at one point."
        )
        alt = "Where two classes on a line have no triplet or margin loss, against the gap and the diameter."
        yield Drawing("zero-loss", *_figure(), alt, caption)
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """For the contrastive loss, and for the family of embeddings."""
        return [_contrastive(), _family()]


@cache
def _contrastive() -> TheoryVerdict:
    labels = np.repeat([0, 1, 2], 4)
    same, other = np.equal.outer(labels, labels), np.not_equal.outer(labels, labels)
    pairs = len(labels) * (len(labels) - 1)

    def risk(squared: np.ndarray) -> tuple[float, np.ndarray]:
        short = np.maximum(ALPHA - squared, 0) * other
        return float((squared * same + short).sum()) / pairs, (same * 1.0 - (short > 0)) / pairs

    generator = np.random.default_rng(0)
    ends = [free_points.descend(risk, generator.normal(size=(len(labels), 4))) for _ in range(STARTS)]
    distances = [free_points.squared(end.points) for end in ends]
    risks = [clean_risk.contrastive(squared, labels, ALPHA) for squared in distances]
    widest = max(float(np.sqrt(squared[same].max())) for squared in distances)
    # The risk times the pairs is at least the sum of D within classes, so a risk of 0 leaves no spread.
    bounded = all(squared[same].sum() <= pairs * total + NONE for squared, total in zip(distances, risks, strict=True))
    holds = max(risks) < 1e-9 and widest < 1e-4 and bounded
    finding = (
        f"{STARTS} descents of 12 free points of 3 classes end with risks up to {max(risks):.0e} and distances within "
        f"classes up to {widest:.0e}. The risk is at least the mean of D over pairs of one class, counted with 0 for "
        "the other pairs, so only collapsed classes have the attainable risk 0."
    )
    return TheoryVerdict("eps-contrastive-collapse", "confirmed" if holds else "undecided", finding)


@cache
def _family() -> TheoryVerdict:
    generator = np.random.default_rng(0)
    broken = met = kept = right = spread = 0
    labels = np.repeat([0, 1], 3)
    for _ in range(EMBEDDINGS):
        points = generator.normal(size=(6, 3)) * generator.uniform(0, 0.7)
        points[labels == 1, 0] += generator.uniform(0, 3)
        distances = free_points.squared(points)
        shape = clean_risk.shape(distances, labels)
        triplet = clean_risk.triplet(distances, labels, ALPHA)
        margin = clean_risk.margin(distances, labels, ALPHA, shape.widest + ALPHA)
        met += clean_risk.printed(shape, ALPHA)
        broken += clean_risk.printed(shape, ALPHA) and triplet > NONE
        kept += clean_risk.corrected(shape, ALPHA, 2)
        right += clean_risk.corrected(shape, ALPHA, 2) and max(triplet, margin) < NONE
        spread += clean_risk.corrected(shape, ALPHA, 2) and shape.widest > ALPHA / 4
    distances, labels = clean_risk.line(0.0, 0.0)
    one = clean_risk.triplet(distances, labels, ALPHA), clean_risk.margin(distances, labels, ALPHA, ALPHA)
    fulfils = clean_risk.printed(clean_risk.shape(distances, labels), ALPHA)
    finding = (
        f"One point for all samples fulfils the printed condition and has a mean triplet loss of {one[0] / ALPHA:g} "
        f"alpha and a mean margin loss of {one[1] / ALPHA:.3g} alpha; {broken} of {met} random embeddings that fulfil "
        f"it have triplet loss. All {right} of {kept} that fulfil the corrected one have no loss; {spread} of these "
        "are not collapsed."
    )
    corrected = (
        "With diam the larger diameter of the two classes and dist their distance, both in D, diam + alpha <= dist "
        "gives a triplet risk of 0, and diam + 2 alpha <= dist with beta = diam + alpha gives a margin risk of 0. With "
        "beta = alpha, only collapsed classes have a margin risk of 0."
    )
    refuted = fulfils and min(one) > NONE
    holds = kept == right and spread > 0
    if refuted:
        return TheoryVerdict("eps-zero-loss-family", "refuted", finding, corrected if holds else "")
    return TheoryVerdict("eps-zero-loss-family", "undecided" if broken else "confirmed", finding)


def _risks(diameter: float, gap: float) -> tuple[float, float, float]:
    """Triplet risk, margin risk with beta = alpha, and with beta = diameter + alpha, all in alphas."""
    distances, labels = clean_risk.line(diameter * ALPHA, gap * ALPHA)
    margins = [clean_risk.margin(distances, labels, ALPHA, beta) for beta in (ALPHA, (diameter + 1) * ALPHA)]
    return clean_risk.triplet(distances, labels, ALPHA) / ALPHA, margins[0] / ALPHA, margins[1] / ALPHA


def _table() -> Table:
    rows = []
    for diameter, gap in LINES:
        shape = clean_risk.shape(*clean_risk.line(diameter * ALPHA, gap * ALPHA))
        holds = "yes" if clean_risk.printed(shape, ALPHA) else "no"
        rows.append((diameter, gap, holds, *(0.0 if abs(r) < NONE else r for r in _risks(diameter, gap))))
    columns = (
        Column("diameter", "Diameter", "number"),
        Column("gap", "Gap", "number"),
        Column("printed", "Printed condition", "name"),
        Column("triplet", "Triplet risk", "number"),
        Column("fixed", "Margin risk, beta = alpha", "number"),
        Column("fitted", "Margin risk, beta = diameter + alpha", "number"),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return Table("zero-loss", "Risks on clean labels", "Two classes on a line; all in units of alpha.", columns, frame)


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.2), layout="constrained")
    gaps, diameters = np.linspace(0, 4, 41), np.linspace(0, 4, 41)
    risks = np.array([[_risks(diameter, gap) for diameter in diameters] for gap in gaps])
    least: dict[str, float | None] = {"triplet": 1, "margin, beta = alpha": None, "margin, beta = diameter + alpha": 2}
    panels, series = figure.subplots(1, 3, sharex=True, sharey=True), []
    for index, (axes, (title, gap)) in enumerate(zip(panels, least.items(), strict=True)):
        free = risks[:, :, index] < NONE
        edge = np.where(free.any(axis=1), diameters[free.shape[1] - 1 - free[:, ::-1].argmax(axis=1)], np.nan)
        axes.fill_between(gaps, 0, edge, color=figures.GREEN, alpha=0.3, linewidth=0)
        series.append(Series(title, "printed condition holds below", gaps, gaps + 2, "--", color=figures.VERMILION))
        thick = {"color": figures.GREEN, "linewidth": 4 if gap is None else 1, "clip_on": False}
        series.append(Series(title, "computed risk is 0 up to", gaps, edge, **thick))
        if gap is not None:
            series.append(Series(title, "corrected condition holds below", [gap, 4], [0, 4 - gap], color=figures.INK))
        point = {"color": figures.VERMILION, "clip_on": False, "zorder": 3}
        series.append(Series(title, "all samples at one point", 0, 0, "o", **point))
        axes.set_xlim(0, 4)
        axes.set_ylim(0, 4)
        axes.set_aspect("equal")
    frame = draw(panels, series, fontsize=8.5)
    figure.supxlabel("gap between the classes (alpha)", color=figures.MUTED, fontsize=9)
    figure.supylabel("diameter of a class (alpha)", color=figures.MUTED, fontsize=9)
    return figure, frame
