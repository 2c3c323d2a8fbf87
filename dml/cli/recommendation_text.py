"""A recommendation as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dml.counting import counted
from dml.report.labels import metric_label, metric_of
from dml.report.numbers import NOTHING, interval, p_value, percent
from dml.report.recommendation import BEST, BETTER, WORSE, Recommendation, Rival, title

MOST = 8  # methods that are significantly worse, at most


def recommendation_text(found: Recommendation, source: str, commands: Sequence[str]) -> str:
    """The methods as a table, the winner's settings, what a reader must know, and the commands that train it."""
    lines = [title(found), f"The share of wrong labels: {source}.", "", *_table(found), "", *_verdict(found), ""]
    lines += ["Settings of the best method:"]
    wide = max(map(len, found.settings))
    lines += [f"  {name:<{wide}}  {_setting(value)}" for name, value in found.settings.items()]
    lines += ["", *(f"- {note}" for note in found.notes)]
    return "\n".join([*lines, "", "As a model of all classes and images:", *(f"  {one}" for one in commands)])


def _table(found: Recommendation) -> list[str]:
    worse = [rival for rival in found.methods if rival.verdict == WORSE]
    hidden = {rival.cell for rival in worse[MOST:]}
    head = ("", "method", metric_label(metric_of(found.score)), "behind the best", "p (adjusted)")
    rows = [head, *(_row(rival) for rival in found.methods if rival.cell not in hidden)]
    wide = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]
    return lines + ([f"and {counted(len(hidden), 'method')} more, all significantly worse"] if hidden else [])


def _row(rival: Rival) -> tuple[str, ...]:
    score = interval(*map(_number, (rival.mean, rival.low, rival.high)))
    if rival.verdict == BEST:
        return BEST, rival.method, score, "", ""
    behind = interval(*map(_number, (rival.behind, rival.behind_low, rival.behind_high)))
    return rival.verdict, rival.method, score, behind, NOTHING if rival.p is None else p_value(rival.p)


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _number(value: float | None) -> str:
    return NOTHING if value is None else percent(value)


def _verdict(found: Recommendation) -> list[str]:
    """Which methods are as good beyond chance, in a sentence."""
    others = len(found.methods) - 1
    if not others:
        return ["The only method with results at this rate."]
    if found.winner.seeds < 2:
        return [f"Best of {counted(others + 1, 'method')} with one {found.block}."]
    seeds = (
        f"{counted(found.winner.seeds, found.block)}, paired by {found.block}, intervals cover {found.covers}; "
        f"p adjusted for the choice of the best of {others + 1}"
    )
    better = [rival.method for rival in found.methods if rival.verdict == BETTER]
    if better:
        rest = f"{counted(len(better), 'method')} ({', '.join(better)}) significantly better on the test classes"
        return [f"Validation classes chose the first method; {rest} ({seeds})."]
    equal = found.as_good
    if not equal:
        return [f"All {counted(others, 'other method')} are significantly worse ({seeds})."]
    remaining = others - len(equal)
    worse = f"; {counted(remaining, 'method')} significantly worse" if remaining else ""
    return [f"{counted(len(equal), 'method')} cannot be told from the best beyond chance{worse} ({seeds})."]
