"""How much is in memory at once. Only sizes of parts depend on the bound, never a score."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dml.counting import size_text

PROCESS = 512 << 20  # bytes: Python with torch and faiss
FEWEST = 10_000  # vectors; for fewer, a product quantiser has too little to learn from
PER_LIST = 40  # vectors for each list that train the index (faiss warns below 39)
LARGEST_CODE = 64  # bytes
LARGEST_TABLE = 1 << 30  # bytes of tables that make searches faster
LARGEST_SHARD, LARGEST_BLOCK, SMALLEST_BLOCK = 1 << 21, 1 << 12, 16
CLUSTERED = 320 << 20  # bytes of the sample that k-means starts from, and of its distances
STEP = 1 << 16  # rows read at once


@dataclass(frozen=True)
class Plan:
    """The sizes of an evaluation's parts.

    `lists`, `code` and `trained_on` follow from the number and the length of the vectors. `shard` and `block` follow
    from the memory.
    """

    rows: int  # vectors
    width: int  # D
    lists: int  # of the inverted file
    code: int  # bytes of a compressed vector: as many sub-quantisers of 256 centres
    trained_on: int  # vectors that train the index
    probes: int  # lists that a query searches
    candidates: int  # rows that are ranked by exact distances
    shard: int  # rows compressed at once
    block: int  # queries searched at once

    @property
    def padded(self) -> int:
        """The length of vectors that divides into sub-vectors of equal length; zeros are added."""
        return self.code * -(-self.width // self.code)

    @property
    def table(self) -> int:
        """Bytes of the precomputed tables of a search; too large ones are not made."""
        size = self.lists * self.code * 256 * 4
        return size if size <= LARGEST_TABLE else 0


def make_plan(rows: int, width: int, *, memory: int, candidates: int, probes: int, classes: int = 0) -> Plan:
    """Plan an evaluation of (rows, width) vectors.

    Parameters
    ----------
    memory : bytes that a process may use, pages of mapped files not counted.
    candidates : rows that are ranked exactly for each query.
    classes : the largest number of clusters; 0: nothing is clustered.

    Raises
    ------
    ValueError : too few vectors, or the memory does not suffice; the message says how much does.
    """
    if rows < FEWEST:
        raise ValueError(f"compressed search: expected at least {FEWEST:,} vectors, got {rows:,}; use an exact search")
    lists = min(1 << round(math.log2(rows) / 2), 1 << 16)
    part = max(2, -(-width // LARGEST_CODE))  # numbers of a sub-vector
    plan = Plan(rows, width, lists, -(-width // part), PER_LIST * lists, probes, candidates, 1, 1)
    index = lists * plan.padded * 4 + plan.table + (plan.code * 256 * plan.padded * 4)
    clusters = 4 * classes * width * 4 + 24 * classes  # centres, their sums in float64, and a search over them
    clusters += CLUSTERED if classes else 0
    standing = PROCESS + index + clusters + rows * 4
    training = 3 * plan.trained_on * plan.padded * 4
    per_row, reading = 2 * (8 + plan.code), 4 * STEP * plan.padded * 4
    per_query = candidates * (3 * 8 * plan.padded + 64)
    least = standing + max(training, reading + per_row * STEP, reading + per_query * SMALLEST_BLOCK)
    if memory < least:
        raise ValueError(
            f"memory: {size_text(memory)} does not suffice for {rows:,} vectors of {width} numbers, {candidates} "
            f"candidates and {classes:,} clusters: expected at least {size_text(least)}"
        )
    free = memory - standing - reading
    shard = min(free // per_row, LARGEST_SHARD, rows)
    return Plan(
        *(rows, width, lists, plan.code, plan.trained_on, min(probes, lists), candidates),
        shard=max(STEP, shard // STEP * STEP),
        block=int(min(LARGEST_BLOCK, max(SMALLEST_BLOCK, free // per_query))),
    )
