"""The unhinged losses under label noise: the bound, and what minimises the risk (Le, Odobez, sections 4.1 and 5.2)."""

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
from papers.noise.theory import skew, unhinged
from papers.series import Series, draw
from papers.verdict_statements import stated

CLASSES = (2, 3, 10, 100, 1000, 11318)  # the last: those of Stanford Online Products
TRIED, SAMPLES = 5, 3  # classes and samples in each, for the descents
RATES = (0.0, 0.2, 0.4, 0.45, 0.5, 0.6, 0.7, 0.9)
DRAWS, ALPHA = 200, 0.2
NEAR = 1e-6


@cache
def noisy_minimum(p: float, balanced: bool) -> unhinged.Minimum:
    """The minimum of the noisy risk for `TRIED` classes."""
    return unhinged.minimum(p, TRIED, SAMPLES, balanced, starts=2)


def _simplex(p: float, balanced: bool) -> bool:
    """The descents end at the simplex, and no lower."""
    minimum = noisy_minimum(p, balanced)
    corner = np.sqrt(2 * TRIED / (TRIED - 1))
    same = abs(minimum.risk - unhinged.simplex_risk(p, TRIED, SAMPLES, balanced)) < NEAR
    return bool(same and minimum.within < NEAR and abs(minimum.between - corner) < NEAR)


@cache
def proposition_1() -> TheoryVerdict:
    """Confirmed if descents end at the simplex below the bound, elsewhere above, and eps(K) falls to 0.01."""
    eps = {k: 1 - skew.unhinged(k) for k in CLASSES}
    bound = skew.unhinged(TRIED)
    below = all(_simplex(p, balanced=False) for p in RATES if p < bound)
    above = [p for p in RATES if p > bound and noisy_minimum(p, balanced=False).between < NEAR]
    balanced = all(_simplex(p, balanced=True) for p in RATES)
    falls = all(a > b for a, b in zip(list(eps.values())[:-1], list(eps.values())[1:], strict=True))
    finding = (
        f"With the paper's weight 1/K for negative pairs, eps(K) is {eps[10]:.2f} for 10 classes, {eps[100]:.2f} for "
        f"100 and {eps[11318]:.4f} for 11 318, about {eps[11318] * np.sqrt(11318):.2f}/sqrt(K): not small for few "
        f"classes. Descents with {TRIED} classes end at the simplex for the rates below the bound {bound:.3f}, and at "
        f"one point for p = {_texts(above)} above it."
    )
    if balanced:
        finding += (
            " With the weight 1/(K - 1), with which large classes are drawn, both multipliers are (1 - p K/(K - "
            "1))^2, and the descents end at the simplex for every rate: only p = 1 - 1/K makes a difference, and the "
            "condition on the two sums is not needed."
        )
    holds = below and len(above) > 0 and falls and eps[11318] < 0.01
    return TheoryVerdict("noise-proposition-1", "confirmed" if holds else "undecided", finding)


@cache
def marginal() -> TheoryVerdict:
    """Confirmed if the losses differ by a constant, and the triplet loss tolerates what is claimed."""
    generator = np.random.default_rng(0)
    constants, slopes = [], []
    for _ in range(DRAWS):
        points = generator.normal(size=(3, 4))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        step = 1e-6 * generator.normal(size=points.shape)

        def gap(at: np.ndarray) -> float:
            return unhinged.marginal(at, ALPHA, lambda _: 1.4) - unhinged.triplet(at, ALPHA)

        constants.append(gap(points))
        slopes.append((gap(points + step) - gap(points - step)) / (2 * float(np.linalg.norm(step))))
    spread, slope = float(np.ptp(constants)), float(np.abs(slopes).max())
    finding = (
        f"Over {DRAWS} random triplets the sum of the two marginal losses minus the triplet loss is "
        f"{np.mean(constants):.3f} (dmax + alpha = {unhinged.DIAMETER + ALPHA:g}), with a spread of {spread:.0e} and "
        f"slopes up to {slope:.0e}. A beta of the shared anchor cancels, so its value does not matter, also if it is "
        "learned per class; a beta of the pair's other end changes the constant, not the slopes of the embedding."
    )
    holds = spread < 1e-12 and slope < NEAR and proposition_1().verdict == "confirmed"
    return TheoryVerdict("noise-unhinged-marginal", "confirmed" if holds else "undecided", finding)


def _texts(values: object) -> str:
    return ", ".join(f"{value:g}" for value in values)  # type: ignore[attr-defined]


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
    series = [
        Series(title, "weight 1/K", classes, unhinged, color=figures.BLUE),
        Series(title, "1 - 1/sqrt(K)", classes, 1 - 1 / np.sqrt(classes), ":", color=figures.BLUE, label=""),
        Series(title, "1/(K - 1): risk constant", classes, 1 - 1 / classes, color=figures.VERMILION),
    ]
    for balanced, name in ((False, "1/K"), (True, "1/(K - 1)")):
        best, title = [noisy_minimum(p, balanced) for p in RATES], f"distances, weight {name}"
        series.append(Series(title, "between classes", RATES, [f.between for f in best], "o-", color=figures.BLUE))
        series.append(Series(title, "within a class", RATES, [f.within for f in best], "s-", color=figures.VERMILION))
    frame = draw((left, *pair), series)
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
