"""The blocks of a section that has some for each dataset and noise model of a crossed study."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dml.report.analysis.factorial import Crossed, crossed
from dml.report.page.blocks import Block, Folded
from dml.report.results import Results

UNFOLDED = 3  # datasets and noise models; of more, all but the first are folded


def of_each(
    results: Results, title: str, blocks: Callable[[Results, Crossed], Iterator[Block | None]]
) -> Iterator[Block | None]:
    """The blocks of each dataset and noise model, under `title` where they are folded."""
    found = crossed(results)
    for place, block in enumerate(found):
        if place and len(found) > UNFOLDED:
            where = results.where(block.dataset, block.noise).removeprefix(", ")
            yield Folded(f"{title}: {where}", tuple(blocks(results, block)))
        else:
            yield from blocks(results, block)
