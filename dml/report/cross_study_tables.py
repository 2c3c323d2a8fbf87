"""The tables over all studies, for the site and the index; here is one of the three: whether a choice carries
over from other datasets, and from clean labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dml.counting import counted
from dml.report.analysis.carried_over import CarriedOver, carried_over
from dml.report.gains import gains
from dml.report.labels import metric_label, noise_name
from dml.report.methods import Method
from dml.report.numbers import NOTHING, points, rate
from dml.report.page.tables import Column, Table
from dml.report.regimes import regimes
from dml.report.results import Results
from dml.report.texts import Texts, joined
from dml.report.tuning import after_comma, mark

say = Texts(__file__)

CARRIES = "Does a choice carry over?"


def across_studies(studies: Sequence[Results], cases: Path | None) -> list[Table | None]:
    """What to do (of the file `cases`), what training gains, and whether a choice carries over."""
    return [regimes(studies, cases), gains(studies), carries_over(studies)]


def carries_over(studies: Sequence[Results]) -> Table | None:
    """One row per study and dataset of those that cross the same methods; None with fewer than two datasets."""
    found = carried_over(studies)
    if not found:
        return None
    gains = [one.gain for one in found if one.gain is not None]
    crossing = found[0].ways.crossing
    lead = say("same_methods", metric=metric_label(crossing[0]), methods=counted(len(crossing[2]), "method"))
    if gains:
        lead = joined(lead, say("above", better=sum(gain.mean > 0 for gain in gains), rows=len(gains)))
    caption = say("carries", datasets=counted(len({one.ways.dataset for one in found}), "dataset"))
    marks = {results.study.name: mark(results.study) for results in studies}
    columns = (
        Column("study", "Study", "name"),
        Column("trained", "Trained"),
        Column("choice", "Others choose"),
        Column("gain", "Over the usual choice"),
        Column("regret", "Behind the best"),
        Column("clean", "Chosen on clean labels, behind the best"),
    )
    rows = [_carried(one, found, marks[one.ways.study]) for one in found]
    return Table("carries", CARRIES, caption, columns, pd.DataFrame(rows), lead)


def _carried(one: CarriedOver, rows: Sequence[CarriedOver], tuning: str) -> dict[str, str]:
    ways, (loss, positives, negatives, *varied) = one.ways, one.choice
    choice = Method(loss, positives, negatives, settings=", ".join(varied)).label
    trained = "head" if ways.head else "network"
    by = counted(one.choosers, f"other {trained}" if one.alike else "other dataset")
    several = sum(row.ways.study == ways.study for row in rows) > 1
    models = {noise for noise, _ in one.from_clean}
    names = {noise: f" {noise_name(noise)}" if len(models) > 1 else "" for noise in models}
    behind = (f"{rate(at)}{names[noise]}: {points(s)}" for (noise, at), s in one.from_clean.items())
    return {
        "study": f"{ways.study}, {ways.dataset}" if several else ways.study,
        "trained": trained + after_comma(tuning),
        "choice": f"{choice} (by {by})",
        "gain": NOTHING if one.gain is None else points(one.gain),
        "regret": points(one.regret),
        "clean": "; ".join(behind) or NOTHING,
    }
