"""A recommendation as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dml.counting import counted
from dml.report.labels import metric_label, metric_of
from dml.report.numbers import NOTHING, interval, p_value, percent
from dml.report.recommendation import AS_GOOD, BEST, BETTER, UNKNOWN, WORSE, Recommendation, Rival, title

MOST = 8  # methods that are significantly worse, at most


def recommendation_text(best: Recommendation, source: str, commands: Sequence[str]) -> str:
    """The methods as a table, the winner's settings, what a reader must know, and the commands that train it."""
    lines = [title(best), f"The share of wrong labels: {source}.", "", *_table(best), "", *_verdict(best), ""]
    lines += ["Settings of the best method:"]
    wide = max(map(len, best.settings))
    for name, value in best.settings.items():
        lines.append(f"  {name:<{wide}}  {value if isinstance(value, str) else json.dumps(value)}")
    lines += ["", *(f"- {note}" for note in best.notes)]
    return "\n".join([*lines, "", "As a model of all classes and images:", *(f"  {one}" for one in commands)])


def _table(best: Recommendation) -> list[str]:
    worse = [rival for rival in best.methods if rival.verdict == WORSE]
    hidden = {rival.cell for rival in worse[MOST:]}
    head = ("", "method", metric_label(metric_of(best.score)), "behind the best", "p (adjusted)")
    rows = [head, *(_row(rival) for rival in best.methods if rival.cell not in hidden)]
    wide = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]
    return lines + ([f"and {counted(len(hidden), 'method')} more, all significantly worse"] if hidden else [])


def _row(rival: Rival) -> tuple[str, ...]:
    score = interval(*map(percent, (rival.mean, rival.low, rival.high)))
    if rival.verdict == BEST:
        return BEST, rival.method, score, "", ""
    behind = interval(*map(percent, (rival.behind, rival.behind_low, rival.behind_high)))
    return rival.verdict, rival.method, score, behind, NOTHING if rival.p is None else p_value(rival.p)


def _verdict(best: Recommendation) -> list[str]:
    """Which methods are as good beyond chance, in a sentence."""
    others = len(best.methods) - 1
    if not others:
        return ["The only method with results at this rate."]
    if best.winner.seeds < 2:
        return [f"Best of {counted(others + 1, 'method')} with one {best.block}."]
    seeds = (
        f"{counted(best.winner.seeds, best.block)}, paired by {best.block}, intervals cover {best.covers}; "
        f"p adjusted for {counted(others, 'comparison')}"
    )
    kinds = (BETTER, AS_GOOD, WORSE, UNKNOWN)
    better, equal, worse, unknown = ([r.method for r in best.methods if r.verdict == kind] for kind in kinds)
    missing = [f"Not compared, with too few {best.block}s in common: {', '.join(unknown)}."] if unknown else []
    if better:
        rest = f"{counted(len(better), 'method')} ({', '.join(better)}) significantly better on the test classes"
        return [f"Validation classes chose the first method; {rest} ({seeds}).", *missing]
    if len(worse) == others:
        who = "The other method is" if others == 1 else f"All {others} other methods are"
        return [f"{who} significantly worse ({seeds})."]
    parts = [f"{counted(len(equal), 'method')} cannot be told from the best beyond chance"] * bool(equal)
    parts += [f"{counted(len(worse), 'method')} significantly worse"] * bool(worse)
    return [f"{'; '.join(parts)} ({seeds}).", *missing] if parts else missing
