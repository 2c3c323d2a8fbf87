"""How skewed the drawn pairs are (eta, gamma), pooled over seeds, and the noise rate that this skew tolerates.

Trials store counts of the negatives' distances per bin: as drawn (`eta_drawn`), and as under uniform drawing
(`eta_uniform`); and those of the positives (`eta_positive_drawn`, `eta_positive_uniform`). A maximum per trial would be
biased upwards, more so with few pairs, so the seeds of a cell are pooled first. `papers.noise.theory.skew` says how.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dml import discovery
from dml.report.analysis.paired import kept
from dml.report.labels import joined
from dml.report.page.blocks import Block, Column, Paragraph, Table, folded
from dml.report.results import Results, parsed
from dml.report.sections._rows import identity, identity_columns
from papers.noise.theory import skew

HINGE, MARGINAL = "triplet", "margin"  # the losses that have a bound: of eta, and of gamma
REACH = 2.0  # the end of the last bin: the largest distance between normalised embeddings
NAMES = ("eta", "gamma", "bound")
MISSING = "not measured"
Histograms = tuple[np.ndarray, np.ndarray]  # drawn and uniform, (seeds, bins) each


def counts(results: Results, name: str, prefix: str = "eta") -> Histograms | None:
    """A cell's two histograms `<prefix>_drawn` and `<prefix>_uniform`, one row per seed that stored them, or None."""
    stored = [(d.get(f"{prefix}_drawn", ()), d.get(f"{prefix}_uniform", ())) for d in results.logged(name)]
    stored = [(drawn, uniform) for drawn, uniform in stored if sum(drawn) > 0 and sum(uniform) > 0]
    if not stored:
        return None
    return np.array([drawn for drawn, _ in stored], float), np.array([uniform for _, uniform in stored], float)


def classes_of(results: Results, name: str) -> int | None:
    """The number of a cell's training classes, K; None for trials that did not record it."""
    counts = [d["training_classes"] for d in results.logged(name) if d.get("training_classes", 0) > 1]
    return int(min(counts)) if counts else None


def skew_of(results: Results, name: str) -> dict[str, Any]:
    """`eta`, `gamma`, `bound` and their 95% intervals (`eta low`, ...) of one cell, and `classes`; NaN if unknown.

    The bound is that of the cell's loss for its number of training classes, or for infinitely many if `classes` is
    unknown. It falls as eta rises, so the ends of the intervals are exchanged.
    """
    row: dict[str, Any] = dict.fromkeys((f"{n}{end}" for n in NAMES for end in ("", " low", " high")), math.nan)
    classes = classes_of(results, name)
    row["classes"] = math.nan if classes is None else classes
    negatives, positives = counts(results, name), counts(results, name, "eta_positive")
    if negatives is None:
        return row
    try:
        estimate = skew.estimate_eta(*negatives)
    except ValueError:  # too few pairs
        return row
    row |= {"eta": estimate.eta, "eta low": estimate.low, "eta high": estimate.high}
    loss = results.cells[name].loss.name
    if loss == HINGE:
        row |= dict(zip(("bound", "bound low", "bound high"), skew.interval(estimate, classes), strict=True))
    if loss == MARGINAL and positives is not None:
        row |= _gamma(results, name, negatives, positives, classes)
    return row


def _gamma(
    results: Results, name: str, negatives: Histograms, positives: Histograms, classes: int | None
) -> dict[str, Any]:
    """`gamma` and `bound` with their intervals; nothing if the boundary is unknown or there are too few pairs."""
    rows = results.confirmed_of(name)
    default = discovery.defaults_of(discovery.find("dml.losses", MARGINAL))["margin"]
    margins = [(parsed(text) or {}).get("loss.margin", default) for text in rows["settings"]]
    betas = [d["beta"] for d in results.logged(name) if "beta" in d]
    if not betas:
        return {}
    beta, margin = float(np.mean(betas)), float(np.mean(margins))
    edges = np.linspace(0, REACH, negatives[0].shape[1] + 1)
    try:
        g = skew.estimate_gamma(negatives, positives, edges[:-1] < beta + margin, edges[1:] > beta - margin)
    except ValueError:
        return {}
    row = {"gamma": g.gamma, "gamma low": g.low, "gamma high": g.high}
    return row | {f"bound{end}": skew.marginal(row[f"gamma{end}"], classes) for end in ("", " low", " high")}


class NegativeSkew:
    """Eta and its bound for each cell."""

    anchor, title = "eta", "How skewed the negatives are drawn"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial that chooses negatives."""
        return any(results.cells[name].negatives for name in results.confirmed["cell"].unique())

    def content(self, results: Results) -> Iterator[Block | None]:
        """What eta is, and a table, folded if nothing was measured."""
        yield Paragraph(
            "Eta is the largest ratio, over bins of distance, of the share of negatives that training draws to the "
            "share that uniform drawing would give. The bound is the rate of label noise that the loss provably "
            "tolerates: for the triplet loss 1 - sqrt(1 - 1 / eta) - eps(K), for the marginal loss 1 - sqrt(1 - gamma) "
            "- eps(K), both solved for the number K of training classes. Gamma is the smallest weight of a negative "
            "pair over the largest of a positive pair, among pairs that are drawn and have a loss, each relative to "
            "uniform drawing over bins of distance."
        )
        made = table(results)
        yield made if made.frame["eta"].notna().any() else folded(made)


def table(results: Results) -> Table:
    """One row per cell that chooses negatives."""
    rows = []
    for name, cell in results.cells.items():
        if cell.negatives:
            share = kept(results, name, results.objective(cell.dataset))
            left = float(share.mean()) if cell.rate > 0 and len(share) else np.nan
            rows.append(identity(results, name) | skew_of(results, name) | {"kept": left, "cell": name})
    frame = pd.DataFrame(rows)
    columns = [
        *identity_columns(results),
        Column("eta", "Eta", "number_interval", "with its 95% interval", missing=MISSING),
    ]
    if frame["gamma"].notna().any():
        columns.append(Column("gamma", "Gamma", "number_interval", "of the marginal loss, with its 95% interval"))
    if frame["classes"].notna().any() and frame["bound"].notna().any():
        columns.append(Column("classes", "K", "count", "training classes; unknown: the bound is for infinitely many"))
    if frame["bound"].notna().any():
        columns.append(Column("bound", "Bound", "rate_interval", "the tolerated noise rate, with its 95% interval"))
    caption = (
        "With 95% intervals; pairs are pooled over a cell's trials. Measured in "
        f"{int(frame['eta'].notna().sum())} of {len(frame)} cells."
    )
    if frame["kept"].notna().any():
        columns.append(Column("kept", "Score kept", "percent", "the score in percent of its reference"))
        caption = joined(caption, "Score kept: in percent of the score of the reference, as under noise costs.")
    return Table("eta", "Eta and the tolerated noise rate", caption, tuple(columns), frame)
