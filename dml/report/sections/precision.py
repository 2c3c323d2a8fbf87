"""What is not told apart: the best methods as a set, and the difference that the study would find."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from dml.counting import counted
from dml.report.analysis.intervals import CORRECTED, of_searches, over
from dml.report.analysis.paired import is_better, is_worse, versus_winner
from dml.report.analysis.precision import conditions, detectable, scores_of, spread, too_few_seeds
from dml.report.analysis.selection import explained
from dml.report.labels import Texts, joined, metric_label, noise_label
from dml.report.numbers import percent
from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.results import Results
from dml.report.sections._rows import condition_columns

say = Texts(__file__)

LEVEL = 0.05
POINTS = 2.0  # a difference that is worth knowing
NAMED = 6  # methods that are not told apart, at most


class Precision:
    """Sets of methods that the study does not tell apart."""

    anchor, title = "precision", "What is not told apart"

    def applies(self, results: Results) -> bool:
        """Two methods with two seeds each, somewhere."""
        return any(_comparable(scores_of(results, *one)) for one in conditions(results))

    def silent(self, results: Results) -> str:
        """Too few seeds for a difference as large as any."""
        return too_few_seeds(results)

    def content(self, results: Results) -> Iterator[Block | None]:
        """What the study would find, and the best methods of each condition."""
        sentence = could_find(results)
        if sentence:
            yield Paragraph(sentence)
        yield best_sets(results)


def could_find(results: Results) -> str:
    """The true difference that the study's tests would find, in a sentence; empty if its spread is not known."""
    found, points = spread(results), detectable(results)
    if found is None or points is None:
        return ""
    seeds, metric = len(results.study.blocks), metric_label(results.study.search.objective)
    tests = max(len(results.rivals(*one)) for one in conditions(results)) - 1
    text = say(
        "could_find",
        blocks=counted(seeds, results.study.block),
        points=_points(points),
        metric=metric,
        block=results.study.block,
        spread=_points(found.points),
        searches=f"; of the searches {_points(found.searches**0.5)}" if found.searches else "",
        comparisons=f"; {tests} comparisons" if tests > 1 else "",
    )
    if results.overlap:  # other splits would have other classes, and another spread
        return joined(text, f"{CORRECTED[0].upper()}{CORRECTED[1:]}.")
    needed = found.seeds_for(POINTS, tests)
    if needed is None:
        return joined(text, say("unreached", points=f"{POINTS:g}"))
    blocks = counted(needed, results.study.block)
    return joined(text, say("needs", points=f"{POINTS:g}", blocks=blocks)) if needed > seeds else text


def best_sets(results: Results) -> Table | None:
    """One row per condition: the methods that do not differ significantly from the winner."""
    compared = versus_winner(results)
    rows: list[dict[str, Any]] = []
    for dataset, noise, rate in conditions(results):
        if not _comparable(scores_of(results, dataset, noise, rate)):
            continue
        here = (compared["dataset"] == dataset) & (compared["noise"] == noise) & (compared["rate"] == rate)
        own = compared[here]
        same = own[[row["other"] != "" and not is_worse(row) for row in own.to_dict("records")]]
        better = {row["other"] for row in same.to_dict("records") if is_better(row)}
        marks = {name: f" ({say('better')})" for name in better}
        names = [results.methods[n].label + marks.get(n, "") for n in (own["winner"].iloc[0], *same["other"])]
        same = same[~same["other"].isin(better)]
        shown = names[:NAMED] + ([f"{len(names) - NAMED} more"] if len(names) > NAMED else [])
        row = {"dataset": dataset, "noise": noise_label(noise), "rate": rate, "best": " · ".join(shown)}
        behind = float(same["difference"].max()) if len(same) else math.nan
        rows.append(row | {"size": len(names), "others": 1 + len(own), "behind": behind})
    if not rows:
        return None
    columns = (
        *condition_columns(results),
        Column("best", "Not told apart from the best", "text"),
        Column("size", "Methods", "share", "how many are in the set, of all that were compared"),
        Column("behind", "Behind by", "difference", "the largest distance from the winner in the set, in points"),
    )
    what = f"{over(results)}{of_searches(results)}"
    caption = say("best_sets", over=what, why=explained(results, results.cells))
    return Table("best-sets", "The best methods, as a set", caption, columns, pd.DataFrame(rows))


def _comparable(scores: pd.DataFrame) -> bool:
    return len(scores) > 1 and scores.shape[1] > 1


def _points(value: float) -> str:
    return f"{percent(value)} points"
