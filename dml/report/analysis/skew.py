"""How skewed the drawn negatives are (eta), pooled over seeds, and the noise rate that this skew tolerates.

Trials store counts of the negatives' distances per bin: as drawn (`eta_drawn`), and as under uniform drawing
(`eta_uniform`). A maximum per trial would be biased upwards, more so with few pairs, so the counts are summed first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml.report.results import Results, parsed
from dml.theory import bounds, eta

LOSS = "triplet"  # the bound is that of the triplet loss with hinge and mining


def counts(results: Results, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """A cell's two histograms, (bins,) each, summed over its seeds; None if no trial stored them."""
    logged = [parsed(text) or {} for text in results.confirmed.loc[results.confirmed["cell"] == name, "diagnostics"]]
    stored = [(d["eta_drawn"], d["eta_uniform"]) for d in logged if d.get("eta_drawn") and d.get("eta_uniform")]
    if not stored:
        return None
    drawn, uniform = (np.sum([pair[i] for pair in stored], axis=0, dtype=float) for i in (0, 1))
    return drawn, uniform


def skew_of(results: Results, name: str) -> dict[str, Any]:
    """`eta`, `bound` and their 95% intervals (`eta low`, ...) of one cell; NaN if unknown.

    The bound holds for infinitely many classes. It falls with eta, so the ends of the intervals are exchanged. An eta
    below 1 is a sampling error and gives the bound of 1.
    """
    found = dict.fromkeys(("eta", "eta low", "eta high", "bound", "bound low", "bound high"), math.nan)
    stored = counts(results, name)
    if stored is None:
        return found
    try:
        skew = eta.estimate(*stored)
    except ValueError:  # too few pairs in every bin
        return found
    found |= {"eta": skew.eta, "eta low": skew.low, "eta high": skew.high}
    if results.cells[name].loss.name == LOSS:
        ends = {"bound": skew.eta, "bound low": skew.high, "bound high": skew.low}
        found |= {key: bounds.hinge(max(1.0, value)) for key, value in ends.items()}
    return found
