"""Whether LoOp adds as little time as the paper says: the verdict on a published measurement."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from dml.report.numbers import percent
from dml.report.sections import TheoryVerdict

FILE = Path(__file__).parents[1] / "loop_time.csv"  # the tables of docs/benchmarks/loop.md
LITTLE = 0.1  # of a training step


@cache
def times() -> pd.DataFrame:
    """Columns measured (`loss` or `step`), batch, plain and loop (milliseconds of CPU time), and added (a share)."""
    found = pd.read_csv(FILE)
    return found.assign(added=found["loop"] / found["plain"] - 1)


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
