"""What the choice of positives or negatives changes, all else equal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.config import matching
from dml.report.analysis.interval_coverage import over
from dml.report.analysis.paired import corrected, paired
from dml.report.labels import readable, score_label
from dml.report.page.blocks import Block, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import difference_columns, identity, identity_columns, one_seed, p_holm
from dml.report.texts import Texts, joined

say = Texts(__file__)

AXES = ("positives", "negatives")


class Choices:
    """Each choice of positives and negatives against the study's base, which is its first choice by default."""

    anchor, title = "choices", "What the choice of tuples changes"

    def applies(self, results: Results) -> bool:
        """At least two choices on one axis, and a result."""
        return not results.confirmed.empty and any(len(_choices(results, axis)) > 1 for axis in AXES)

    def content(self, results: Results) -> Iterator[Block | None]:
        """A folded table for each axis."""
        for axis in AXES:
            yield folded(choice(results, axis))


def choice(results: Results, axis: str) -> Table | None:
    """One row per base and cell with another choice: the paired difference from the cell with that base.

    Parameters
    ----------
    axis : "positives" or "negatives".
    """
    choices = _choices(results, axis)
    if len(choices) < 2:
        return None
    bases = getattr(results.study.report.base, axis) or choices[:1]
    found = {(_without(results, name, axis), _chosen(results, name, axis)): name for name in results.cells}
    rows = []
    for (name, cell), base in itertools.product(results.cells.items(), bases):
        base_cell = found.get((_without(results, name, axis), base))
        if base_cell is None or _chosen(results, name, axis) in (*bases, ""):
            continue
        key = results.objective(cell.dataset)
        mine, theirs = results.values(name, key), results.values(base_cell, key)
        row = (
            identity(results, name)
            | {"score": _mean(mine), "base": _mean(theirs)}
            | paired(mine, theirs, results.overlap)
        )
        rows.append(row | {"cell": name, "compared with": base_cell, "base choice": readable(base)})
    if not rows:
        return None
    several = len(bases) > 1
    columns = (
        *identity_columns(results),
        *([Column("base choice", "Base", "name")] if several else []),
        Column("base", "With the base" if several else f"With {readable(bases[0])}", "percent"),
        Column("score", "With this", "percent"),
        *difference_columns(results, p_holm(results), len(results.study.blocks) > 1),
    )
    key = score_label(results.objective(next(iter(results.cells.values())).dataset))
    named = "the base's" if several else readable(bases[0])
    tests = say("holm") if len(results.study.blocks) > 1 else one_seed()
    caption = joined(say("table", score=key, axis=axis, base=named, over=over(results)), tests)
    return Table(
        f"choice-{axis}", f"What the choice of {axis} changes", caption, columns, pd.DataFrame(corrected(rows))
    )


def _choices(results: Results, axis: str) -> list[str]:
    return [c for c in dict.fromkeys(getattr(m, axis) for m in results.methods.values()) if c]


def _chosen(results: Results, name: str, axis: str) -> str:
    return getattr(results.methods[name], axis)


def _without(results: Results, name: str, axis: str) -> str:
    """What identifies a cell but for one axis."""
    return matching.identity(matching.rest(results.cells[name], [axis]))


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else np.nan
