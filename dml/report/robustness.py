"""What noise takes away: each score as a share of its reference, and the rate at which a tenth is lost.

The reference of a noisy cell is its topline, the `subset` cell of the same method and rate (training on the clean share
of the samples alone; figure (d) of Le, Odobez: Theoretical guarantees of deep embedding losses under label noise). It
separates "fewer good labels" from "bad labels". A study without such cells is measured by its cell at rate 0.
Shares are taken seed by seed, then averaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dml.report.results import Results, parsed, score_label
from dml.report.table import Column, Table
from dml.report.tables import identity, identity_columns, summary_of
from dml.theory import bounds
from dml.types import Cell

TOPLINE = "subset"
LEFT = 90.0  # percent of the reference: below it, a method has broken


def reference(results: Results, name: str) -> str | None:
    """The cell that a noisy cell is measured by: its topline, else its method's cell at rate 0, else None."""
    cell, method = results.cells[name], results.methods[name]
    twins = {
        (c.noise, c.rate): n
        for n, c in results.cells.items()
        if c.dataset == cell.dataset and results.methods[n] == method
    }
    return twins.get((TOPLINE, cell.rate)) or twins.get((cell.noise, 0.0))


def has_topline(results: Results, dataset: str) -> bool:
    """Whether a study has topline cells for a dataset."""
    return any(c.noise == TOPLINE and c.dataset == dataset for c in results.cells.values())


def kept(results: Results, name: str, key: str) -> pd.Series:
    """The percent of its reference's score that a cell keeps, indexed by seed."""
    by = reference(results, name)
    if by is None:
        return pd.Series(dtype=float)
    mine, theirs = results.values(name, key), results.values(by, key)
    seeds = mine.index.intersection(theirs.index)
    return (100 * mine[seeds] / theirs[seeds].where(theirs[seeds] > 0)).dropna()


def break_point(rates: list[float], shares: list[float]) -> float:
    """The rate at which the share falls below `LEFT` for the first time, interpolated; infinite where it never does.

    Without noise the share is 100.
    """
    before = (0.0, 100.0)
    for rate, share in sorted(zip(rates, shares, strict=True)):
        if share < LEFT:
            slope = (before[1] - LEFT) / (before[1] - share)
            return before[0] + slope * (rate - before[0])
        before = (rate, share)
    return float("inf")


def table(results: Results) -> Table | None:
    """One row per dataset, noise model and method: shares by rate, the break point, and the bound if eta was logged."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name, cell in results.cells.items():
        if cell.noise != TOPLINE:
            groups.setdefault((cell.dataset, cell.noise, results.methods[name]), []).append(name)
    rates = sorted({c.rate for c in results.cells.values() if c.rate > 0 and c.noise != TOPLINE})
    rows = []
    for names in groups.values():
        cell = results.cells[names[0]]
        row = identity(cell, results.methods[names[0]])
        known: dict[float, float] = {}
        for rate in rates:
            at = [n for n in names if results.cells[n].rate == rate]
            values = kept(results, at[0], results.objective(cell.dataset)) if at else pd.Series(dtype=float)
            row |= summary_of(values, f"{rate:g}")
            if len(values):
                known[rate] = float(values.mean())
        row["break point"] = break_point(list(known), list(known.values())) if known else np.nan
        row["reach"] = max(known, default=np.nan)
        rows.append(row | _bound(results, cell, names))
    frame = pd.DataFrame(rows)
    if not rates or frame["break point"].isna().all():
        return None
    measured = "its topline's, training on the clean samples alone" if _any_topline(results) else "that without noise"
    columns = [
        *identity_columns(results, keep_rate=False),
        *(Column(f"{rate:g}", f"At {rate:.0%}", "score") for rate in rates),
        Column("break point", "Break point", "break", "the noise rate at which a tenth of the score is lost"),
    ]
    caption = (
        f"{score_label(results.objective(results.study.datasets[0].label))}: in percent of {measured}, seed by seed. "
        "Break point: the noise rate at which a tenth is lost, interpolated between the rates."
    )
    if frame["bound"].notna().any():
        columns += [
            Column("eta", "Eta", "number", "how much more often the most favoured negatives are drawn"),
            Column("bound", "Bound", "rate", "the noise rate that the theory allows for, with infinitely many classes"),
        ]
        caption += " Bound: 1 - sqrt(1 - 1 / eta), with eta from the tuples that training drew."
    shown = tuple(c for c in columns if c.key != "noise" or frame["noise"].nunique() > 1)
    return Table("robustness", "What noise takes away", caption, shown, frame)


def _bound(results: Results, cell: Cell, names: list[str]) -> dict[str, float]:
    """The largest eta logged by a method's trials, and its bound for the hinge."""
    rows = results.confirmed[results.confirmed["cell"].isin(names)]
    logged = [(parsed(text) or {}).get("eta") for text in rows["diagnostics"]]
    etas = [float(eta) for eta in logged if isinstance(eta, int | float) and eta >= 1]
    if not etas or cell.loss.name != "triplet":
        return {"eta": max(etas, default=np.nan), "bound": np.nan}
    return {"eta": max(etas), "bound": bounds.hinge(max(etas))}


def _any_topline(results: Results) -> bool:
    return any(has_topline(results, dataset.label) for dataset in results.study.datasets)
