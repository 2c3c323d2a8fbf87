"""What the choice of positives or negatives changes, all else equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.analysis.paired import corrected, paired
from dml.report.labels import readable, score_label
from dml.report.page.blocks import Block, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import difference_columns, identity, identity_columns

AXES = ("positives", "negatives")


class Choices:
    """Each choice of positives and negatives against the first of the study."""

    anchor, title = "choices", "What the choice of tuples changes"

    def applies(self, results: Results) -> bool:
        """At least two choices on one axis."""
        return any(len(_choices(results, axis)) > 1 for axis in AXES)

    def content(self, results: Results) -> Iterator[Block | None]:
        """A folded table for each axis."""
        for axis in AXES:
            yield folded(choice(results, axis))


def choice(results: Results, axis: str) -> Table | None:
    """One row per cell with another choice than the study's first: the paired difference from the cell with the first.

    Parameters
    ----------
    axis : "positives" or "negatives".
    """
    choices = _choices(results, axis)
    if len(choices) < 2:
        return None
    base = choices[0]
    twins = {_without(results, name, axis): name for name in results.cells if _chosen(results, name, axis) == base}
    rows = []
    for name, cell in results.cells.items():
        twin = twins.get(_without(results, name, axis))
        if twin is None or _chosen(results, name, axis) in (base, ""):
            continue
        key = results.objective(cell.dataset)
        mine, theirs = results.values(name, key), results.values(twin, key)
        row = identity(results, name) | {"score": _mean(mine), "base": _mean(theirs)} | paired(mine, theirs)
        rows.append(row | {"cell": name, "compared with": twin})
    if not rows:
        return None
    columns = (
        *identity_columns(results),
        Column("base", f"With {readable(base)}", "percent"),
        Column("score", "With this", "percent"),
        *difference_columns(),
    )
    key = score_label(results.objective(next(iter(results.cells.values())).dataset))
    caption = (
        f"{key}, in percent. Difference: this choice of {axis} minus {readable(base)} {axis}, in points, paired over "
        "seeds, all else equal. Holm's correction is over the whole table."
    )
    return Table(
        f"choice-{axis}", f"What the choice of {axis} changes", caption, columns, pd.DataFrame(corrected(rows))
    )


def _choices(results: Results, axis: str) -> list[str]:
    return [c for c in dict.fromkeys(getattr(m, axis) for m in results.methods.values()) if c]


def _chosen(results: Results, name: str, axis: str) -> str:
    return getattr(results.methods[name], axis)


def _without(results: Results, name: str, axis: str) -> tuple:
    """What identifies a cell but for one axis."""
    return tuple(value for key, value in identity(results, name).items() if key != axis)


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else np.nan
