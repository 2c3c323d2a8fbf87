"""The answer of the site's page of results: which loss, which tuples, which settings hold up under which noise.

Sentences are filled with numbers of published studies. What is not decided at 5% is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from dml import statistics
from dml.counting import counted
from dml.report.analysis.factorial import Crossed, crossed
from dml.report.analysis.flags import marks
from dml.report.analysis.pareto_front import Kept, kept
from dml.report.analysis.pooled import Effect, pooled_effects
from dml.report.analysis.shares import share
from dml.report.analysis.validation_choice import chosen_on_validation
from dml.report.analysis.variance import shares
from dml.report.cross_study_tables import across_studies
from dml.report.labels import is_topline, metric_label, noise_label, readable
from dml.report.numbers import interval, percent, points, rate
from dml.report.page.blocks import Folded, Paragraph
from dml.report.page.markdown import Heading, Items, MarkdownBlock, Picture
from dml.report.page.tables import Column, Table
from dml.report.regimes import END, START
from dml.report.results import Results
from dml.report.sections.effects_of_choices import interactions_text
from dml.report.sections.winners import winners
from dml.report.texts import Texts
from dml.report.tuning import after_comma, mark
from dml.statistics import Summary

say = Texts(__file__)

QUESTION = "Which loss, which tuples, which settings hold up under which noise?"
LEVEL = 0.05


def answers(studies: Sequence[Results], figures: Path, cases: Path | None = None) -> Iterator[MarkdownBlock | None]:
    """The blocks of the first screen.

    Parameters
    ----------
    figures : the folder of the studies' figures, relative to the page.
    cases : the file of the first table's cases (`dml.report.regimes`).
    """
    joint = sorted((r for r in studies if crossed(r)), key=lambda r: -len(r.cells))
    effects = tuple(block for results in joint for block in _of_joint(results, figures))
    others = Items(tuple(line for results in studies if results not in joint for line in _of_study(results)))
    first, gains, carries = across_studies(studies, cases)
    yield Heading(2, QUESTION)
    if first is not None:
        yield from (Paragraph(START), first, Paragraph(END))
    yield gains
    if carries is not None:
        yield replace(carries, lead=f"**{carries.title}** {carries.lead}")
    if gains is not None or carries is not None:
        yield Folded("Each study's effects, with intervals", effects)
    else:
        yield from effects
    yield others
    if not (effects or others.items or any(table is not None for table in (first, gains, carries))):
        yield Paragraph(say("nothing"))


def _of_joint(results: Results, figures: Path) -> Iterator[MarkdownBlock]:
    """A table of the best and the worst choices at each noise rate, and interactions."""
    for block in crossed(results):
        metric, where = metric_label(results.study.search.objective), results.where(block.dataset, block.noise)
        size = f"{counted(block.scores[..., 0].size, 'cell')}, {counted(len(block.seeds), results.study.block)}"
        lead = (
            f"**{results.study.title}** (`{results.study.name}`{where}; {size}{after_comma(mark(results.study))}). "
            f"{say('effects', metric=metric)}"
        )
        yield _table(block, pooled_effects(block), lead)
        terms = shares(block)
        if terms:
            yield Paragraph(interactions_text(terms))
    yield Picture("Effects of choices", f"{figures / results.study.name}-effects.png")


def _table(block: Crossed, effects: Sequence[Effect], lead: str) -> Table:
    rows = [
        {"axis": readable(axis)}
        | {f"{r:g}": _extremes([e for e in effects if (e.axis, e.rate) == (axis, r)]) for r in block.rates}
        for axis in block.axes
    ]
    columns = (Column("axis", "Choice of"), *(Column(f"{r:g}", f"at {rate(r)} noise") for r in block.rates))
    return Table("effects", "Effects of choices", "", columns, pd.DataFrame(rows), lead)


def _extremes(effects: Sequence[Effect]) -> str:
    """`best margin +2.1 [+1.0, +3.2]; worst all -3.0 [...]` of the significant ones."""
    sure = sorted((e for e in effects if e.holm < LEVEL), key=lambda e: -e.summary.mean)
    best = [f"best {_signed(sure[0].level, sure[0].summary)}"] if sure and sure[0].summary.mean > 0 else []
    worst = [f"worst {_signed(sure[-1].level, sure[-1].summary)}"] if sure and sure[-1].summary.mean < 0 else []
    return "; ".join(best + worst) or "not decided"


def _of_study(results: Results) -> Iterator[str]:
    """Who wins at the lowest and the highest noise rate, if anybody is beaten, and who retains most under noise."""
    table = winners(results)
    rows = [] if table is None else table.frame.to_dict("records")
    for dataset, noise in results.conditions:
        rates = results.rates(dataset, noise)
        if is_topline(noise):
            continue
        for each in dict.fromkeys((rates[0], rates[-1])):
            condition = (dataset, noise_label(noise), each)
            found = [row for row in rows if (row["dataset"], row["noise"], row["rate"]) == condition]
            yield from (_won(results, row) for row in found if row["worse"] and row["worse"] > 0)
        if rates[0] == 0 and len(rates) > 1:
            yield from _robust(results, dataset, noise, rates[-1])


def _won(results: Results, row: dict[str, Any]) -> str:
    metric, name = metric_label(results.study.search.objective), f"`{results.study.name}`"
    where = results.where(row["dataset"], results.cells[row["cell"]].noise)
    score = interval(*(percent(row[f"score {part}"]) for part in ("mean", "low", "high")))
    said = marks(results, row["cell"])
    chosen = chosen_on_validation(results, results.cells)
    has = f", chosen on validation classes, has {metric} {score}" if chosen else f" has the highest {metric}, {score}"
    return (
        f"{name}{where}, {rate(row['rate'])} noise: {row['winner']}{has}; "
        f"{row['worse']:.0f} of {row['others']} others are significantly worse{after_comma(said)}."
    )


def _robust(results: Results, dataset: str, noise: str, at: float) -> Iterator[str]:
    """The methods that retain most and least, if they differ beyond the choice of the two of many."""
    points = sorted(kept(results, dataset, noise, at), key=lambda e: -e.share.mean)
    pairs = len(points) * (len(points) - 1) // 2
    if not pairs:
        return
    key = results.objective(dataset)
    first, last = (share(results.values(e.noisy, key), results.values(e.clean, key)) for e in (points[0], points[-1]))
    if pairs * statistics.paired_t((first - last).dropna().to_numpy()) < LEVEL:
        most, least = (_kept(results, each, key) for each in (points[0], points[-1]))
        name = f"`{results.study.name}`{results.where(dataset, noise)}"
        said = marks(results, *(cell for each in (points[0], points[-1]) for cell in (each.clean, each.noisy)))
        yield f"{name}, {rate(at)} noise: {most}, {least}{after_comma(said)}."


def _kept(results: Results, each: Kept, key: str) -> str:
    s, method = each.share, results.methods[each.noisy].label
    before, after = (percent(results.values(name, key).mean()) for name in (each.clean, each.noisy))
    found = interval(percent(s.mean), percent(s.low), percent(s.high))
    return f"{method} retains {found}% of its clean score ({after} of {before})"


def _signed(level: str, s: Summary) -> str:
    return f"{readable(level)} {points(s)}"
