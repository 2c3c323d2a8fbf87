"""LoOp's nine cases, the signs of its interior case, and its segments (Vasudeva et al. 2021, sections 3.2 and 4.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table, folded
from dml.report.sections import TheoryVerdict
from papers.loop.figures import loop_box
from papers.loop.verdicts import of_cases as computed
from papers.verdict_statements import stated


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
        yield Drawing("loop-cases", *loop_box.figure(computed.printed_formulas(), computed.FORMULAS), alt, caption)
        yield _signs()
        yield folded(_agreement())
        yield folded(_segments())

    def verdicts(self) -> list[TheoryVerdict]:
        """For the nine cases, the signs of case 0, and segments."""
        return [computed.nine_cases(), computed.case_zero(), computed.straight()]


def _signs() -> Table:
    rows = []
    for (alpha, beta), residual in computed.critical().residual.items():
        kind = "equal" if alpha == beta else "printed"
        rows.append((alpha, beta, kind, float(residual.min()), float(np.median(residual)), float(residual.max())))
    other = computed.critical().supplement
    rows.append(("+ or -", "+ or -", "best of 4, other A", float(other.min()), float(np.median(other)), other.max()))
    columns = (
        Column("alpha", "Sign of alpha's root", "name"),
        Column("beta", "Sign of beta's root", "name"),
        Column("kind", "Pairing", "name"),
        *(Column(key, f"Gradient, {key}", "number") for key in ("least", "median", "largest")),
    )
    caption = (
        f"Length of the gradient of f over that of (a, b, c, d), {computed.DRAWS:,} draws. Other A: a^2 - b^2 - c^2 + "
        "d^2, as one line of the supplement prints it."
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return Table("loop-signs", "The interior case's pairs of roots", caption, columns, frame)


def _agreement() -> Table:
    rows = []
    for kind, found in computed.arcs_found().items():
        hits = {"interior": found.hits[0], "edge": found.hits[1:5].sum(), "corner": found.hits[5:].sum()}
        shares = {key: float(count / found.pairs) for key, count in hits.items()}
        rows.append({"kind": kind, "pairs": found.pairs, "difference": max(found.above, found.below)} | shares)
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
        {"kind": kind, "pairs": pairs, "difference": error} for kind, (pairs, error) in computed.lines_found().items()
    ]
    columns = (
        Column("kind", "Segments", "name"),
        Column("pairs", "Pairs", "count"),
        Column("difference", "Largest difference", "number", "of the squared distance, from the search"),
    )
    caption = "Equation 21 and the eight other cases of supplement 4.2. Degenerate segments are in 3 dimensions."
    return Table("loop-segments", "Segments against a search", caption, columns, pd.DataFrame(rows))
