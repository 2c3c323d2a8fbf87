"""LoOp's nine cases, the signs of its interior case, and its segments (Vasudeva et al. 2021, sections 3.2 and 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table, folded
from dml.report.sections import TheoryVerdict
from papers.loop.figures import loop_box
from papers.loop.theory import cases as arc_cases
from papers.loop.theory import printed_formulas as arc_printed
from papers.loop.theory import random_arcs, segments
from papers.loop.theory import search as arc_search
from papers.loop.theory.printed_formulas import Printed
from papers.loop.theory.search import Agreement
from papers.verdict_statements import stated

Word = Literal["confirmed", "refuted", "undecided"]
DIMENSIONS, ARCS, DEGENERATE = (2, 3, 8, 128), 400, 80
DRAWS = 2000
FORMULAS, FORMULA_ARCS = (3, 16, 128), 4000
CLOSE = 1e-7  # of half squared distances; arcs that are opposite within 1e-6 lose half of the digits
EXACT = 1e-9


@cache
def arc_agreements() -> dict[str, Agreement]:
    rng = np.random.default_rng(0)
    agreements = {
        f"random, {size} dimensions": arc_search.compare(random_arcs.uniform(rng, ARCS, size)) for size in DIMENSIONS
    }
    kinds = random_arcs.nearly_degenerate(rng, DEGENERATE, 3)
    return agreements | {kind: arc_search.compare(arcs) for kind, arcs in kinds.items()}


def nine_cases() -> TheoryVerdict:
    kinds = arc_agreements()
    random = [kinds[f"random, {size} dimensions"] for size in DIMENSIONS]
    pairs = sum(agreement.pairs for agreement in kinds.values())
    worst = max(max(a.above, a.below, a.attained) for a in kinds.values())
    least = min(int(agreement.hits.min()) for agreement in random)
    verdict: Word = "confirmed" if worst < CLOSE and least > 0 else "refuted" if worst > 1e-3 else "undecided"
    finding = (
        f"On {pairs:,} pairs of arcs, {len(kinds) - len(random)} kinds of degenerate ones included, the best case and "
        f"the search differ by at most {worst:.0e} in half the squared distance. Each case has the minimum for at "
        f"least {least} of the {ARCS} random pairs in each of {', '.join(map(str, DIMENSIONS))} dimensions."
    )
    return TheoryVerdict("loop-nine-cases", verdict, finding)


@cache
def critical() -> arc_printed.Critical:
    return arc_printed.critical(arc_printed.box_of_coefficients(np.random.default_rng(0), DRAWS))


@cache
def printed_formulas() -> dict[str, list[Printed]]:
    rng = np.random.default_rng(0)
    boxes = [arc_cases.box_of(random_arcs.uniform(rng, FORMULA_ARCS, size)) for size in FORMULAS]
    return {
        "printed": [arc_printed.compare(box, "printed") for box in boxes],
        "equal": [arc_printed.compare(box, "equal") for box in boxes],
    }


def case_zero() -> TheoryVerdict:
    residual, printed, equal = critical().residual, printed_formulas()["printed"], printed_formulas()["equal"]
    opposite = min(float(residual[pair].min()) for pair in (("+", "-"), ("-", "+")))
    same = max(float(residual[pair].max()) for pair in (("+", "+"), ("-", "-")))
    verdict: Word = "refuted" if opposite > EXACT > same else "confirmed" if opposite < EXACT else "undecided"
    finding = (
        f"On {DRAWS:,} draws of (a, b, c, d), the gradient of f relative to their length is at least {opposite:.2f} at "
        f"the pairs as printed and at most {same:.0e} at the pairs with equal signs. With the printed signs, "
        f"{min(p.none for p in printed):.0%} to {max(p.none for p in printed):.0%} of random arcs in "
        f"{FORMULAS[0]} to {FORMULAS[-1]} dimensions have no valid case, and {min(p.wrong for p in printed):.0%} to "
        f"{max(p.wrong for p in printed):.0%} get a wrong distance; with equal signs, "
        f"{max(p.none + p.wrong for p in equal):.0%}."
    )
    corrected = (
        "The upper sign of tan(alpha) belongs to the upper sign of tan(beta), and the lower to the lower. The upper "
        "pair is the minimum or the maximum of f, the lower pair a saddle."
    )
    return TheoryVerdict("loop-case-0", verdict, finding, corrected if verdict == "refuted" else "")


@cache
def segment_differences() -> dict[str, tuple[int, float]]:
    """How many pairs of segments, and the largest difference of the nine cases' distance from the search."""
    rng = np.random.default_rng(0)
    kinds = {f"random, {size} dimensions": segments.random(rng, ARCS, size) for size in (1, 2, 3, 16)}
    kinds |= segments.degenerate(rng, DEGENERATE, 3)
    differences = {}
    for kind, ends in kinds.items():
        distance, _ = segments.nine_cases(ends)
        # Squared, because near a distance of 0 the root of a rounding error is 1e-8.
        differences[kind] = len(distance), float(np.abs(distance**2 - segments.searched(ends) ** 2).max())
    return differences


def straight() -> TheoryVerdict:
    counts, differences = zip(*segment_differences().values(), strict=True)
    pairs, worst = sum(counts), max(differences)
    verdict: Word = "confirmed" if worst < CLOSE else "refuted" if worst > 1e-3 else "undecided"
    finding = (
        f"On {pairs:,} pairs of segments, parallel ones and points included, the squared distance of the best case and "
        f"that of a search differ by at most {worst:.0e}. A formula that is 0 / 0 may be left out: another case has "
        "the same minimum."
    )
    return TheoryVerdict("loop-segments", verdict, finding)


class LoopCases:
    """Whether LoOp's closed forms give the least distance."""

    anchor, title = "loop-cases", "LoOp: the nine cases of the least distance between two arcs"

    def content(self) -> Iterator[Block | None]:
        """Verdicts, a figure and tables."""
        yield Paragraph(
            "LoOp finds the closest points of two arcs, x1 to x2 and y1 to y2, among nine candidates: one between the "
            "ends of both arcs (case 0), four with one end fixed (1 to 4), and the four pairs of ends (5 to 8). Here "
            "they are compared with a search over both arcs that uses none of LoOp's formulas."
        )
        names = ("The nine cases", "The signs of case 0", "Segments in place of arcs")
        yield stated(self.verdicts(), names)
        caption = (
            "Left: f = -p1.p2 over the two angles for one pair of arcs (blue: near), with the box of its arcs. Dots: "
            "roots with equal signs, where the gradient is 0; ++ is the minimum. Crosses: roots as printed; the "
            "gradient is not 0. Right: the share of random arcs at which the formulas accept no case, or return a "
            "wrong distance, with the signs as printed. With equal signs both are 0."
        )
        alt = "The objective of LoOp over two angles with its four pairs of roots, and the errors of the printed signs."
        yield Drawing("loop-cases", *loop_box.figure(printed_formulas(), FORMULAS), alt, caption)
        yield _signs()
        yield folded(_agreement())
        yield folded(_segments())

    def verdicts(self) -> list[TheoryVerdict]:
        """For the nine cases, the signs of case 0, and segments."""
        return [nine_cases(), case_zero(), straight()]


def _signs() -> Table:
    rows = []
    for (alpha, beta), residual in critical().residual.items():
        kind = "equal" if alpha == beta else "printed"
        rows.append((alpha, beta, kind, float(residual.min()), float(np.median(residual)), float(residual.max())))
    other = critical().supplement
    rows.append(("+ or -", "+ or -", "best of 4, other A", float(other.min()), float(np.median(other)), other.max()))
    columns = (
        Column("alpha", "Sign of alpha's root", "name"),
        Column("beta", "Sign of beta's root", "name"),
        Column("kind", "Pairing", "name"),
        *(Column(key, f"Gradient, {key}", "number") for key in ("least", "median", "largest")),
    )
    caption = (
        f"Length of the gradient of f over that of (a, b, c, d), {DRAWS:,} draws. Other A: a^2 - b^2 - c^2 + "
        "d^2, as one line of the supplement prints it."
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return Table("loop-signs", "The interior case's pairs of roots", caption, columns, frame)


def _agreement() -> Table:
    rows = []
    for kind, a in arc_agreements().items():
        hits = {"interior": a.hits[0], "edge": a.hits[1:5].sum(), "corner": a.hits[5:].sum()}
        shares = {key: float(count / a.pairs) for key, count in hits.items()}
        rows.append({"kind": kind, "pairs": a.pairs, "difference": max(a.above, a.below)} | shares)
    columns = (
        Column("kind", "Arcs", "name"),
        Column("pairs", "Pairs", "count"),
        Column("difference", "Largest difference", "number", "of half the squared distance, from the search"),
        Column("interior", "Case 0", "rate", "share of pairs whose closest points are between the ends of both arcs"),
        Column("edge", "Cases 1 to 4", "rate", "one end"),
        Column("corner", "Cases 5 to 8", "rate", "two ends"),
    )
    caption = (
        "Degenerate arcs are in 3 or 4 dimensions. Ends that are exactly opposite have no geodesic and are left out."
    )
    return Table("loop-cases", "The nine cases against a search", caption, columns, pd.DataFrame(rows))


def _segments() -> Table:
    rows = [
        {"kind": kind, "pairs": pairs, "difference": error} for kind, (pairs, error) in segment_differences().items()
    ]
    columns = (
        Column("kind", "Segments", "name"),
        Column("pairs", "Pairs", "count"),
        Column("difference", "Largest difference", "number", "of the squared distance, from the search"),
    )
    caption = "Equation 21 and the eight other cases of supplement 4.2. Degenerate segments are in 3 dimensions."
    return Table("loop-segments", "Segments against a search", caption, columns, pd.DataFrame(rows))
