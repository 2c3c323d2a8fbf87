"""What remains of a score under noise: its share of a reference, and the rate at which a tenth is lost.

The reference of a noisy cell is its topline: the cell of the same method and rate that trains on the correctly labelled
samples only (figure (d) of Le, Odobez: Theoretical guarantees of deep embedding losses under label noise). It separates
"fewer good labels" from "bad labels". In a study without toplines, the reference is the cell at rate 0.
"""

from __future__ import annotations

import pandas as pd

from dml.report.analysis.paired import aligned
from dml.report.labels import is_topline
from dml.report.results import Results

LEFT = 90.0  # percent of the reference; a method breaks where its share falls below


def reference(results: Results, name: str) -> str | None:
    """The reference of a cell: its topline, or its clean counterpart, its method's cell at rate 0, or None."""
    cell = results.cells[name]
    own = results.cells_by_method[cell.dataset, results.methods[name]]
    topline = next((n for (noise, rate), n in own.items() if is_topline(noise) and rate == cell.rate), None)
    return topline or own.get((cell.noise, 0.0))


def kept(results: Results, name: str, key: str) -> pd.Series:
    """A cell's score in percent of its reference's, indexed by seed."""
    by = reference(results, name)
    if by is None:
        return pd.Series(dtype=float)
    return share(results.values(name, key), results.values(by, key))


def share(scores: pd.Series, references: pd.Series) -> pd.Series:
    """Scores in percent of their references, on the seeds (index) that both have and whose reference is above 0."""
    mine, theirs = aligned(scores, references)
    above = theirs.to_numpy() > 0
    return pd.Series(100 * mine.to_numpy()[above] / theirs.to_numpy()[above], index=mine.index[above])


def break_point(rates: list[float], shares: list[float], left: float = LEFT) -> float:
    """The rate at which the share first falls below `left`, interpolated; infinite if it never does.

    Parameters
    ----------
    rates : of noise, above 0. At rate 0 the share is 100.
    shares : in percent, one per rate.
    left : percent of the reference.
    """
    before = (0.0, 100.0)
    for rate, share in sorted(zip(rates, shares, strict=True)):
        if share < left:
            slope = (before[1] - left) / (before[1] - share)
            return before[0] + slope * (rate - before[0])
        before = (rate, share)
    return float("inf")
