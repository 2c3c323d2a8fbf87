"""A rule of thumb from a study whose axes are crossed, tested on studies that it was not made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from dml.report.analysis.factorial import Crossed, crossed
from dml.report.analysis.rule import RuleTest, ranking
from dml.report.labels import readable
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Paragraph
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.texts import Texts, joined
from dml.report.tuning import marked

say = Texts(__file__)


class RuleOfThumb:
    """What the rule says, and how it does elsewhere."""

    anchor, title = "rule", "A rule of thumb, tested elsewhere"

    def applies(self, results: Results) -> bool:
        """The study names other studies for its rule, and its axes are crossed."""
        return results.study.report.rule is not None and not results.confirmed.empty and bool(crossed(results))

    def content(self, results: Results) -> Iterator[Block | None]:
        """The rule in words, the studies that have not run, and a table of the tests."""
        rule = results.study.report.rule
        assert rule is not None
        sentences = (f"{sentence}." for sentence in rule_sentences(crossed(results)))
        yield Paragraph(joined(say("rule"), *sentences))
        done = {test.study for test in results.rule_tests}
        if lacking := [name for name in rule.test if name not in done]:
            yield Paragraph(say("not_tested", studies=", ".join(lacking)))
        if results.rule_tests:
            yield _table(results.rule_tests)


def rule_sentences(blocks: list[Crossed]) -> list[str]:
    """`At 20% noise: margin, easy positives, distance weighted negatives` for each noise rate."""
    found = []
    for rate in sorted({rate for block in blocks for rate in block.rates}):
        best = {axis: levels[0] for axis, levels in ranking(blocks, rate).items()}
        found.append(f"At {written(rate)} noise: {choice_text(best)}")
    return found


def choice_text(choice: dict[str, str]) -> str:
    """`margin, easy positives, distance weighted negatives`."""
    return ", ".join(readable(level) + ("" if axis == "loss" else f" {axis}") for axis, level in choice.items())


def _table(tests: Sequence[RuleTest]) -> Table:
    columns = (
        *(Column("study", "Study", "name"), Column("dataset", "Dataset", "name"), Column("rate", "Noise rate", "rate")),
        Column("choice", "What the rule takes there"),
        Column("gain", "Gain", "difference_interval", "against the mean of all cells, in points"),
        Column("regret", "Regret", "difference_interval", "the best cell minus the rule's, in points"),
        Column("better", "Beats", "rate", "share of cells with a lower mean"),
        *(Column("cells", "Cells", "count"), Column("seeds", "Seeds", "count")),
    )
    rows = pd.DataFrame([_row(test) for test in tests])
    return Table("rule", "The rule on other studies", say("table"), columns, rows)


def _row(test: RuleTest) -> dict[str, Any]:
    row: dict[str, Any] = {
        "study": marked(test.study, test.tuning),
        "dataset": test.dataset,
        "noise": test.noise,
        "rate": test.rate,
        "choice": choice_text(dict(test.choice)),
        "better": test.better,
        "cells": test.cells,
        "seeds": test.gain.n,
        "gain": test.gain.mean,
        "gain low": test.gain.low,
        "gain high": test.gain.high,
    }
    nothing = float("nan")
    s = test.regret
    low, high = (nothing, nothing) if s is None else (s.low, s.high)
    return row | {"regret": nothing if s is None else s.mean, "regret low": low, "regret high": high}
