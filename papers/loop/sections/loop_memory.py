"""What LoOp needs beside HPHN's triplet loss and embedding expansion (Vasudeva et al., sections 3.4 and 4.3)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.loop.theory.synthesis_cost import DIMENSION, PER_CLASS, costs
from papers.loop.verdicts.of_memory import memory
from papers.verdict_statements import stated

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
