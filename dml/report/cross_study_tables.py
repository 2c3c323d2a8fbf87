"""The tables over all studies, for `docs/results.md` and the index; here are two of the four: what to use in which
situation, over all crossed studies, and whether a choice carries over.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dml.counting import counted
from dml.report.analysis.carried_over import CarriedOver, carried_over
from dml.report.analysis.factorial import crossed
from dml.report.analysis.flags import doubts
from dml.report.analysis.held_out import HeldOut, held_out
from dml.report.gains import gains
from dml.report.labels import metric_label, metric_of
from dml.report.methods import Method
from dml.report.noise_labels import noise_name
from dml.report.numbers import NOTHING, percent, points, rate
from dml.report.page.tables import Column, Table
from dml.report.regimes import regimes
from dml.report.results import Results
from dml.report.texts import Texts, joined
from dml.report.tuning import after_comma, mark

say = Texts(__file__)

CARRIES = "Does a choice carry over?"


def across_studies(studies: Sequence[Results], cases: Path | None) -> list[Table | None]:
    """What to do (of the file `cases`), what training gains, what to use, and whether that carries over."""
    return [regimes(studies, cases), gains(studies), what_to_use(studies), carries_over(studies)]


def what_to_use(studies: Sequence[Results]) -> Table | None:
    """One row per tuned study, dataset, noise model and rate, by dataset; None with fewer than two rows.

    Where fewer than two studies are tuned, one per study.
    """
    joint = [results for results in studies if crossed(results)]
    tuned = [results for results in joint if not mark(results.study)]
    found = [
        (results, one)
        for results in (tuned if len(tuned) > 1 else joint)
        for block in crossed(results)
        for noise_rate in results.rates(block.dataset, block.noise)
        if (one := held_out(results, block.dataset, block.noise, noise_rate)) is not None
    ]
    if len(found) < 2:
        return None
    rows = [_row(results, one) for results, one in sorted(found, key=lambda pair: pair[1].dataset)]
    columns = (
        Column("study", "Study", "name"),
        Column("trained", "Trained"),
        Column("noise", "Noise"),
        Column("use", "Use"),
        Column("score", "Score"),
        Column("gain", "Over the usual choice"),
        Column("untrained", "Without training"),
        Column("spread", "Spread"),
    )
    return Table("use", "What to use", say("use"), columns, pd.DataFrame(rows), _lead(found))


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


def _lead(found: Sequence[tuple[Results, HeldOut]]) -> str:
    """How many rows compare methods at one rate, and how often no training is better: both come before any choice."""
    untuned = sum(bool(mark(results.study)) for results, _ in found)
    undecided = sum(bool(doubts(results, one.chosen)) for results, one in found)
    known = [(one.untrained.score, one.score.mean) for _, one in found if one.untrained is not None]
    higher = sum(untrained > score for untrained, score in known)
    return joined(
        say("not_tuned", untuned=untuned, rows=len(found)) if untuned else "",
        say("undecided", undecided=undecided, rows=len(found)) if undecided else "",
        say("untrained", higher=higher, rows=len(known)) if known else "",
    )


def _row(results: Results, one: HeldOut) -> dict[str, str]:
    name = noise_name(one.noise)
    return {
        "study": one.study if len(results.study.datasets) == 1 else f"{one.study}, {one.dataset}",
        "trained": ("head" if one.head else "network") + after_comma(doubts(results, one.chosen)),
        "noise": f"{rate(one.rate)} {name}" if one.rate else "none",
        "use": f"{results.methods[one.chosen].label} ({one.times} of {one.score.n})",
        "score": f"{metric_label(metric_of(one.key))} {percent(one.score.mean)}",
        "gain": NOTHING if one.gain is None else points(one.gain),
        "untrained": NOTHING if one.untrained is None else f"{percent(one.untrained.score)} ({one.untrained.label})",
        "spread": f"{percent(one.spread)} of {one.cells} methods",
    }


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
