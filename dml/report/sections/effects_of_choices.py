"""What each choice is worth, pooled over all else: the answer of a study whose axes are crossed."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dml.counting import counted
from dml.report.analysis.factorial import Crossed, crossed
from dml.report.analysis.interval_coverage import CORRECTED, over
from dml.report.analysis.pooled import Effect, pooled_effects
from dml.report.analysis.variance import Share, shares
from dml.report.figures.pooled import effect_rows, share_rows
from dml.report.labels import readable, score_label
from dml.report.numbers import percent
from dml.report.page.blocks import Block, Drawing, Paragraph, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._factorial import of_each
from dml.report.sections._rows import block_column, rate_column
from dml.report.texts import Texts, joined

say = Texts(__file__)

MATTERS = 0.02  # share of the variance from which an interaction is named in the text


class EffectsOfChoices:
    """Effects with intervals at each noise rate, and the interactions that matter."""

    anchor, title = "effects", "What each choice is worth"

    def applies(self, results: Results) -> bool:
        """At least two of loss, positives and negatives are crossed."""
        return not results.confirmed.empty and bool(crossed(results))

    def content(self, results: Results) -> Iterator[Block | None]:
        """For each dataset and noise model a figure of effects and one of shares, and their tables.

        Those of many datasets or noise models are folded, all but the first.
        """
        yield from of_each(results, self.title, _blocks)


def _blocks(results: Results, block: Crossed) -> Iterator[Block | None]:
    name, where = f"{block.dataset}-{block.noise}", results.where(block.dataset, block.noise)
    effects, terms = _effects_table(results, name, pooled_effects(block)), shares(block)
    yield Drawing(
        f"effects-{name}",
        effect_rows(effects.frame),
        effects.frame,
        say("effects_alt"),
        _caption(block, score_label(results.objective(block.dataset)), where, results.study.block),
    )
    yield folded(effects)
    if terms:
        decided = _shares_table(name, terms)
        yield Paragraph(interactions_text(terms))
        yield Drawing(
            f"shares-{name}",
            share_rows(decided.frame),
            decided.frame,
            say("shares_alt"),
            say("shares", over=over(results), where=where),
        )
        yield folded(decided)


def interactions_text(terms: list[Share]) -> str:
    """Which interactions are significant and large enough to matter, in a sentence."""
    found = [t for t in terms if " x " in t.term and t.low >= MATTERS]
    if not found:
        return say("none", matters=f"{MATTERS:.0%}")
    listed = "; ".join(
        f"{readable(t.term)} {percent(100 * t.share)}% ({percent(100 * t.low)} to {percent(100 * t.high)})"
        for t in found
    )
    return say("some", listed=listed)


def _caption(block: Crossed, key: str, where: str, unit: str) -> str:
    left_out = say("left_out", choices=", ".join(map(readable, block.left_out))) if block.left_out else ""
    blocks = counted(len(block.seeds), unit)
    return joined(
        say(
            "effects",
            score=key,
            blocks=blocks,
            block=unit,
            corrected=f"; {CORRECTED}" * bool(block.overlap),
            where=where,
        ),
        left_out,
    )


def _effects_table(results: Results, name: str, effects: list[Effect]) -> Table:
    rows = [
        {
            "axis": readable(e.axis),
            "level": readable(e.level),
            "rate": e.rate,
            "effect": e.summary.mean,
            "effect low": e.summary.low,
            "effect high": e.summary.high,
            "p": e.p,
            "holm": e.holm,
            "seeds": e.summary.n,
        }
        for e in effects
    ]
    columns = (
        *(Column("axis", "Choice of", "name"), Column("level", "Choice", "name")),
        *(rate_column(results), Column("effect", "Effect", "difference_interval", "in points")),
        Column("holm", "p (Holm)", "p", say("holm", over=over(results))),
        block_column(results),
    )
    return Table(f"effects-{name}", "Effects of choices", say("effects_table"), columns, pd.DataFrame(rows))


def _shares_table(name: str, terms: list[Share]) -> Table:
    rows = [
        {"term": readable(t.term), "share": t.share, "share low": t.low, "share high": t.high, "p": t.p} for t in terms
    ]
    columns = (
        Column("term", "Choice or interaction", "name"),
        Column("share", "Share", "rate_interval", "of the variance between cells of one noise rate, beyond seed noise"),
        Column("p", "p", "p", "of no variance beyond seed noise, by the F test"),
    )
    return Table(f"shares-{name}", "Which choices decide", say("shares_table"), columns, pd.DataFrame(rows))
