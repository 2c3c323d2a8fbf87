"""How much time LoOp adds to a loss and to a training step (Vasudeva et al., section 4.3): a published measurement."""

from __future__ import annotations

from collections.abc import Iterator

from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.loop.verdicts.of_time import time, times
from papers.verdict_statements import stated


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
