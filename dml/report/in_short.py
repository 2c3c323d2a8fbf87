"""The best choices over all crossed studies, by noise rate, as one small table: for `docs/results.md` and the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pandas as pd

from dml.report.analysis.crossed import Crossed, crossed
from dml.report.analysis.pooled import Effect, pooled_effects
from dml.report.labels import readable
from dml.report.page.numbers import percent
from dml.report.page.tables import Column, Table
from dml.report.results import Results

LEVEL = 0.05
BANDS = {"without noise": (0.0, 0.0), "noise up to 30%": (0.0, 0.3), "more noise": (0.3, 1.0)}  # above, up to
AXES = ("positives", "negatives", "loss")
CAPTION = (
    "The best choice, in how many of the comparisons (one dataset, noise model and rate each), and by how many points "
    "above the average choice, all else pooled. Only significant effects count (Holm)"
)


def best_choices(studies: Sequence[Results]) -> Table | None:
    """For each choice and range of noise rates: which level is best, in how many comparisons, by how much.

    A comparison is one dataset, noise model and rate of a study. The best level is the one with the largest effect that
    is significant (Holm, within the factorial). None with fewer than two factorials.
    """
    found = [(block, pooled_effects(block)) for results in studies for block in crossed(results)]
    if len(found) < 2:
        return None
    rows = [
        {"axis": readable(axis), **{name: _band(found, axis, *band) for name, band in BANDS.items()}} for axis in AXES
    ]
    columns = (Column("axis", "Choice of", "name"), *(Column(name, name.capitalize()) for name in BANDS))
    return Table("best", "The best choices over all crossed studies", f"{CAPTION}.", columns, pd.DataFrame(rows))


def in_short(studies: Sequence[Results]) -> list[str]:
    """The table of `best_choices` as lines of Markdown; none if there is none."""
    table = best_choices(studies)
    if table is None:
        return []
    head = [f"{CAPTION}:", "", f"| choice of | {' | '.join(BANDS)} |", "|---|" + "---|" * len(BANDS)]
    return [*head, *(f"| {' | '.join(row)} |" for row in table.frame.itertuples(index=False)), ""]


def _band(found: Sequence[tuple[Crossed, list[Effect]]], axis: str, above: float, most: float) -> str:
    """`easy in 4 of 5 (+1.4 to +3.9); ...`, the level that is best most often first."""
    compared, best = 0, defaultdict(list)
    for block, effects in found:
        for rate in block.rates:
            if axis not in block.axes or not (rate == most == 0 or above < rate <= most):
                continue
            compared += 1
            sure = [e for e in effects if (e.axis, e.rate) == (axis, rate) and e.holm < LEVEL and e.summary.mean > 0]
            if sure:
                first = max(sure, key=lambda e: e.summary.mean)
                best[first.level].append(first.summary.mean)
    order = sorted(best, key=lambda level: (-len(best[level]), -max(best[level])))
    texts = [f"{readable(level)} in {len(best[level])} of {compared} ({_range(best[level])})" for level in order]
    return "; ".join(texts) or ("not decided" if compared else "not compared")


def _range(gains: Sequence[float]) -> str:
    low, high = (percent(value, signed=True) for value in (min(gains), max(gains)))
    return low if low == high else f"{low} to {high}"
