"""How skewed the drawn negatives are (eta), pooled over seeds, and the noise rate that this skew tolerates.

Trials store counts of the negatives' distances per bin: as drawn (`eta_drawn`), and as under uniform drawing
(`eta_uniform`). A maximum per trial would be biased upwards, more so with few pairs, so the seeds of a cell are pooled
first. `dml.theory.eta` says how.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml.report.results import Results, parsed
from dml.theory import bounds, eta

LOSS = "triplet"  # the bound is that of the triplet loss with hinge and mining


def counts(results: Results, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """A cell's two histograms, one row per seed that stored them, (seeds, bins) each; None if no seed did."""
    texts = results.confirmed.loc[results.confirmed["cell"] == name, "diagnostics"]
    logged = [parsed(text) or {} for text in texts]
    stored = [(d.get("eta_drawn", ()), d.get("eta_uniform", ())) for d in logged]
    stored = [(drawn, uniform) for drawn, uniform in stored if sum(drawn) > 0 and sum(uniform) > 0]
    if not stored:
        return None
    return np.array([drawn for drawn, _ in stored], float), np.array([uniform for _, uniform in stored], float)


def skew_of(results: Results, name: str) -> dict[str, Any]:
    """`eta`, `bound` and their 95% intervals (`eta low`, ...) of one cell; NaN if unknown.

    The bound holds for infinitely many classes. It falls as eta rises, so the ends of the intervals are exchanged.
    """
    found = dict.fromkeys(("eta", "eta low", "eta high", "bound", "bound low", "bound high"), math.nan)
    stored = counts(results, name)
    if stored is None:
        return found
    try:
        skew = eta.estimate(*stored)
    except ValueError:  # too few pairs
        return found
    found |= {"eta": skew.eta, "eta low": skew.low, "eta high": skew.high}
    if results.cells[name].loss.name == LOSS:
        ends = {"bound": skew.eta, "bound low": skew.high, "bound high": skew.low}
        found |= {key: bounds.hinge(value) for key, value in ends.items()}
    return found
