"""Which method wins, and what a choice changes: paired comparisons over seeds, corrected by Holm's method.

Two methods of one dataset and noise rate are compared on the seeds that both finished: the mean difference, its 95%
interval (Student's t) and the p of the paired t-test. Holm's correction runs over all comparisons with one winner, and
over all those of one choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.published import metric_label
from dml.report.results import Results, readable, score_label
from dml.report.robustness import TOPLINE
from dml.report.table import NOTHING, Column, Table, percent
from dml.report.tables import identity, identity_columns, summary_of

LEVEL = 0.05
P_NOTE = "two-sided p of the paired t-test over seeds, after Holm's correction"


def versus_winner(results: Results) -> pd.DataFrame:
    """The winner of each dataset, noise model and rate against every other method there.

    Columns dataset, noise, rate, winner, other (cells), `winner mean` and so on, `difference`, `low`, `high`, `p`,
    `holm`, `seeds`. A winner without others has one row in which `other` is empty.
    """
    rows: list[dict[str, Any]] = []
    groups = sorted(dict.fromkeys((c.dataset, c.noise, c.rate) for c in results.cells.values()), key=_is_topline)
    for group in groups:
        names = [name for name, c in results.cells.items() if (c.dataset, c.noise, c.rate) == group]
        scores = {name: results.values(name, results.objective(group[0])) for name in names}
        scores = {name: values for name, values in scores.items() if len(values)}
        ranked = sorted(scores, key=lambda name: -scores[name].mean())
        if not ranked:
            continue
        first = dict(zip(("dataset", "noise", "rate"), group, strict=True)) | {"winner": ranked[0]}
        first |= summary_of(scores[ranked[0]], "winner")
        family = [first | {"other": other} | paired(scores[ranked[0]], scores[other]) for other in ranked[1:]]
        rows += corrected(family) or [
            first | {"other": "", "holm": float("nan")} | paired(scores[ranked[0]], pd.Series(dtype=float))
        ]
    return pd.DataFrame(rows)


def winners(results: Results) -> Table | None:
    """One row per dataset, noise model and rate: the winner, its lead, and who is as good as can be told."""
    compared = versus_winner(results)
    if compared.empty:
        return None
    rows = []
    for (dataset, noise, rate), group in compared.groupby(["dataset", "noise", "rate"], sort=False):
        best, others = group.iloc[0], group[group["other"] != ""]
        row = {"dataset": dataset, "noise": readable(noise), "rate": rate}
        row |= {"winner": results.methods[best["winner"]].label}
        row |= {f"score {part}": best[f"winner {part}"] for part in ("mean", "std", "low", "high", "n")}
        row["runner-up"] = results.methods[best["other"]].label if len(others) else NOTHING
        row |= {f"lead {part}": best[part] for part in ("difference", "low", "high")}
        row["holm"] = best["holm"]
        row["told apart"] = int((others["holm"] < LEVEL).sum())
        rows.append(row | {"others": len(others), "cell": best["winner"]})
    frame = pd.DataFrame(rows)
    frame["lead"] = [interval(r["lead difference"], r["lead low"], r["lead high"]) for _, r in frame.iterrows()]
    columns = [c for c in identity_columns(results) if c.key in ("dataset", "noise", "rate")]
    columns += [
        Column("winner", "Winner"),
        Column("score", metric_label(results.study.search.objective), "score"),
        Column("runner-up", "Runner-up"),
        Column("lead", "Lead [95% interval]", "interval", "winner less runner-up, in points, paired over seeds"),
        Column("holm", "p (Holm)", "p", P_NOTE),
        Column("told apart", "Worse beyond chance", "share", f"methods whose corrected p is below {LEVEL}"),
    ]
    key = score_label(results.objective(next(iter(results.cells.values())).dataset))
    caption = (
        f"By {key}, in percent. A method is a loss, its positives + its negatives. "
        "Lead: winner less runner-up in points, paired over seeds, with its "
        "95% interval. Worse beyond chance: methods whose difference from the winner has a p below 0.05 by the paired "
        "t-test over seeds, with Holm's correction for all methods at that noise rate; p: the runner-up's. The same "
        "scores name the winner, which flatters its lead a little."
    )
    return Table("winners", "Winners", caption, tuple(columns), frame)


def winner_pairs(results: Results) -> Table | None:
    """Every comparison behind the table of winners."""
    compared = versus_winner(results)
    compared = compared[compared["other"] != ""] if len(compared) else compared
    if compared.empty:
        return None
    frame = pd.DataFrame(
        {
            "dataset": compared["dataset"],
            "noise": compared["noise"].map(readable),
            "rate": compared["rate"],
            "winner": [results.methods[name].label for name in compared["winner"]],
            "other": [results.methods[name].label for name in compared["other"]],
            **{key: compared[key] for key in ("difference", "low", "high", "p", "holm", "seeds")},
        }
    )
    columns = [c for c in identity_columns(results) if c.key in ("dataset", "noise", "rate")]
    columns += [
        Column("winner", "Winner", "name"),
        Column("other", "Compared with", "name"),
        *_difference_columns(),
    ]
    caption = "Winner less the other, in points of the objective, paired over the seeds that both finished."
    return Table("comparisons", "Every method against the winner", caption, tuple(columns), frame)


def choice(results: Results, axis: str) -> Table | None:
    """What the positives (or negatives) change: each policy less `random` (or the first), all else equal."""
    policies = list(dict.fromkeys(getattr(m, axis) for m in results.methods.values() if getattr(m, axis)))
    if len(policies) < 2:
        return None
    base = "random" if "random" in policies else policies[0]
    rows = []
    for name, cell in results.cells.items():
        method = results.methods[name]
        if getattr(method, axis) in (base, ""):
            continue
        twin = next(
            (n for n, c in results.cells.items() if _same_but(results, axis, name, n) and _is(results, n, axis, base)),
            None,
        )
        if twin is None:
            continue
        key = results.objective(cell.dataset)
        mine, theirs = results.values(name, key), results.values(twin, key)
        row = identity(cell, method) | {"score": _mean(mine), "base": _mean(theirs)} | paired(mine, theirs)
        rows.append(row | {"cell": name, "compared with": twin})
    if not rows:
        return None
    columns = [
        *identity_columns(results),
        Column("base", f"With {readable(base)}", "percent"),
        Column("score", "With this", "percent"),
        *_difference_columns(),
    ]
    key = score_label(results.objective(next(iter(results.cells.values())).dataset))
    caption = (
        f"{key}, in percent; the difference that the choice "
        f"of {axis} makes against {readable(base)} {axis}, in points, paired over seeds, all else equal. Holm's "
        "correction runs over the whole table."
    )
    title = f"What the choice of {axis} changes"
    return Table(f"choice-{axis}", title, caption, tuple(columns), pd.DataFrame(corrected(rows)))


def paired(first: pd.Series, second: pd.Series) -> dict[str, Any]:
    """`difference`, `low`, `high`, `p` and `seeds` of first less second on the seeds (index) that both have."""
    seeds = first.index.intersection(second.index)
    empty = {"difference": np.nan, "low": np.nan, "high": np.nan, "p": np.nan, "seeds": len(seeds)}
    if not len(seeds):
        return empty
    apart = (first[seeds] - second[seeds]).to_numpy()
    if len(seeds) < 2:
        return empty | {"difference": float(apart[0])}
    s = statistics.summary(apart)
    p = statistics.compare(first[seeds].to_numpy(), second[seeds].to_numpy(), resamples=1).p_t
    return {"difference": s.mean, "low": s.low, "high": s.high, "p": p, "seeds": len(seeds)}


def corrected(family: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `holm`, their p after Holm's correction; NaN where p is."""
    known = [i for i, row in enumerate(family) if np.isfinite(row["p"])]
    adjusted = dict(zip(known, statistics.holm([family[i]["p"] for i in known]), strict=True))
    return [row | {"holm": float(adjusted.get(i, np.nan))} for i, row in enumerate(family)]


def interval(middle: float, low: float, high: float) -> str:
    """`+3.1 [+1.2, +5.0]`."""
    text = percent(middle, signed=True)
    return text if not np.isfinite(low) else f"{text} [{percent(low, signed=True)}, {percent(high, signed=True)}]"


def _difference_columns() -> tuple[Column, ...]:
    return (
        Column("difference", "Difference", "difference", "in points"),
        Column("low", "95% low", "difference"),
        Column("high", "95% high", "difference"),
        Column("holm", "p (Holm)", "p", P_NOTE),
        Column("seeds", "Seeds", "count"),
    )


def _is_topline(group: tuple[str, str, float]) -> bool:
    return group[1] == TOPLINE


def _same_but(results: Results, axis: str, one: str, other: str) -> bool:
    a, b = identity(results.cells[one], results.methods[one]), identity(results.cells[other], results.methods[other])
    return all(a[key] == b[key] for key in a if key != axis)


def _is(results: Results, name: str, axis: str, policy: str) -> bool:
    return getattr(results.methods[name], axis) == policy


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else np.nan
