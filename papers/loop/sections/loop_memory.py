"""What LoOp needs beside HPHN's triplet loss and embedding expansion (Vasudeva et al., sections 3.4 and 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd

from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.loop.theory.synthesis_cost import DIMENSION, PER_CLASS, POINTS, Cost, combinations, costs
from papers.verdict_statements import stated

Word = Literal["confirmed", "refuted"]
MOST = 2.1  # exponent of a square, with what rounding a fit may add


def memory() -> TheoryVerdict:
    """Section 3.4, equation of C, and section 4.3."""
    counted = all(pairs == batch * (batch - n) // 8 for (batch, n), pairs in combinations().items())
    exponents = {
        name: _exponent(name, points) for name, points in (("none", 0), ("loop", 0), ("embedding_expansion", 16))
    }
    of_points = [cost.largest / (cost.points + 2) ** 2 for cost in costs() if cost.points and cost.batch == _most()]
    right = counted and max(exponents.values()) < MOST and len(set(of_points)) == 1
    plain, loop = _at("none", 0), _at("loop", 0)
    as_loop = next((n for n in POINTS if _at("embedding_expansion", n).made >= loop.made), POINTS[-1])
    finding = (
        f"There are B (B - N) / 8 combinations, counted for {len(combinations())} batch sizes B and samples per class "
        f"N: of the fixed positive pairs (alternate samples), a part of all. The elements that the loss makes "
        f"grow as B^{exponents['none']:.2f} (HPHN), B^{exponents['loop']:.2f} (with LoOp) and "
        f"B^{exponents['embedding_expansion']:.2f} (with expansion by 16 points), the largest tensor of expansion as "
        f"(n + 2)^2. But the orders hide that LoOp's nine cases make {loop.made / plain.made:.1f} times as many "
        f"elements as HPHN alone at B = {loop.batch}, about as many as expansion by {as_loop} points."
        if counted
        else "The combinations are not B (B - N) / 8."
    )
    word: Word = "confirmed" if right else "refuted"
    return TheoryVerdict("loop-memory", word, finding)


def _exponent(synthesis: str, points: int) -> float:
    """Of the elements made against the batch size, between the two largest batches."""
    elements = sorted((c.batch, c.made) for c in costs() if (c.synthesis, c.points) == (synthesis, points))
    (small, few), (large, many) = elements[-2:]
    return float(np.log(many / few) / np.log(large / small))


def _most() -> int:
    return max(cost.batch for cost in costs())


def _at(synthesis: str, points: int) -> Cost:
    """At the largest batch."""
    return next(c for c in costs() if (c.batch, c.synthesis, c.points) == (_most(), synthesis, points))


NAMES = {"none": "none", "loop": "LoOp", "embedding_expansion": "embedding expansion"}


class LoopMemory:
    """Elements that the loss makes, by batch size and synthesis."""

    anchor, title = "loop-memory", "LoOp: combinations and memory"

    def content(self) -> Iterator[Block | None]:
        """The verdict and a table."""
        yield Paragraph(
            "For two positive pairs LoOp computes the least distance of their arcs in closed form, from nine cases. "
            "Embedding expansion computes the distances of n + 2 points on each. What is counted are the elements of "
            "all tensors that a forward pass makes, which are the same in every run."
        )
        yield stated(self.verdicts(), ("The orders",))
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """For the number of combinations and the orders of growth."""
        return [memory()]


def _table() -> Table:
    plain = {cost.batch: cost.made for cost in costs() if cost.synthesis == "none"}
    rows = [
        cost._asdict() | {"synthesis": NAMES[cost.synthesis], "ratio": cost.made / plain[cost.batch]}
        for cost in costs()
    ]
    columns = (
        Column("batch", "Batch", "count"),
        Column("synthesis", "Synthesis", "name"),
        Column("points", "Points", "count", "interpolated within a pair"),
        Column("made", "Elements made", "count"),
        Column("ratio", "Of HPHN alone", "number"),
        Column("largest", "Largest tensor", "count", "in elements"),
    )
    caption = f"`hphn_triplet` as implemented, forward pass, {PER_CLASS} samples per class, {DIMENSION} dimensions."
    return Table("loop-memory", "What the loss makes", caption, columns, pd.DataFrame(rows))
