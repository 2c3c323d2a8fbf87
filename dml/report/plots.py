"""The points that `dvc plots` draws: each method's score against the noise rate."""

from __future__ import annotations

import pandas as pd

from dml.report.analysis.interval_coverage import summary_at
from dml.report.labels import noise_label
from dml.report.results import Results

COLUMNS = ("rate", "method", "score", "low", "high")


def points(results: Results) -> pd.DataFrame:
    """Columns rate, method, score, low, high (percent); one row per cell with a result."""
    rows = []
    datasets, models = ({pair[i] for pair in results.conditions} for i in (0, 1))
    for name, cell in results.cells.items():
        s = summary_at(results, name, results.objective(cell.dataset), "s")
        label = results.methods[name].label
        if len(datasets) > 1:
            label = f"{cell.dataset}: {label}"
        if len(models) > 1:
            label = f"{label} ({noise_label(cell.noise)})"
        if s["s n"]:
            rows.append((cell.rate, label, s["s mean"], s["s low"], s["s high"]))
    return pd.DataFrame(rows, columns=list(COLUMNS))
