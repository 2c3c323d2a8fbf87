"""How much time LoOp adds to a loss and to a training step (Vasudeva et al., section 4.3): a published measurement."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from dml.report.numbers import percent
from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.verdict_statements import stated

FILE = Path(__file__).parents[1] / "loop_time.csv"  # the tables of docs/benchmarks/loop.md
LITTLE = 0.1  # of a training step


@cache
def times() -> pd.DataFrame:
    """Columns measured (`loss` or `step`), batch, plain and loop (milliseconds of CPU time), and added (a share)."""
    table = pd.read_csv(FILE)
    return table.assign(added=table["loop"] / table["plain"] - 1)


def time() -> TheoryVerdict:
    """Section 4.3: confirmed if LoOp adds less than `LITTLE` to a step at each batch size, refuted if at none."""
    loss, step = (times()[times()["measured"] == name].set_index("batch")["added"] for name in ("loss", "step"))
    little = step < LITTLE
    word: Literal["confirmed", "refuted", "undecided"] = (
        "confirmed" if little.all() else "undecided" if little.any() else "refuted"
    )
    added = ", ".join(f"{percent(100 * share, signed=True)}% at B = {batch}" for batch, share in step.items())
    finding = (
        "Measured on one processor thread (docs/benchmarks/loop.md): HPHN's triplet loss takes "
        f"{1 + loss.min():.1f} to {1 + loss.max():.1f} times as long with LoOp. A whole training step of a small "
        f"network takes {added}; little is taken as less than {LITTLE:.0%}. The paper's own times, with another loss "
        "and on a GPU, are 70% apart. Larger networks and GPUs were not measured."
    )
    return TheoryVerdict("loop-time", word, finding)


class LoopTime:
    """Milliseconds with and without LoOp, by batch size."""

    anchor, title = "loop-time", "LoOp: time"

    def content(self) -> Iterator[Block | None]:
        """The verdict and a table."""
        yield Paragraph(
            "Times are not computed for this page: python benchmarks/loop.py measured them, with and without LoOp side "
            "by side in one run, and docs/benchmarks/loop.md is where they are from."
        )
        yield stated(self.verdicts(), ("Little time",))
        columns = (
            Column("measured", "Measured", "name", "the loss, or a training step with a small network"),
            Column("batch", "Batch", "count"),
            Column("plain", "HPHN, ms", "number"),
            Column("loop", "With LoOp, ms", "number"),
            Column("added", "LoOp adds", "rate"),
        )
        yield Table("loop-time", "Time", "Forward and backward, CPU time on one thread, medians.", columns, times())

    def verdicts(self) -> list[TheoryVerdict]:
        """For the time of an iteration."""
        return [time()]
