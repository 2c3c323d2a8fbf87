"""What to do in which case, on one page for two minutes: the first table of README, `docs/results.md` and the index.

A file lists the cases and the study that answers each (`pipelines/regimes.yaml`). The numbers are the studies' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from dml.counting import counted
from dml.report.analysis.held_out import held_out
from dml.report.analysis.untrained import SAME
from dml.report.gains import gain_rows
from dml.report.in_short import points
from dml.report.page.numbers import NOTHING
from dml.report.page.tables import Column, Table
from dml.report.results import Results

FILE = "regimes.yaml"
START, END = "<!-- regimes: written by pipelines/overview.py -->", "<!-- end -->"
TITLE = "What to do"
CAPTION = (
    "Rates and when to stop are tuned on validation classes, which also choose the method; test classes judge. Gains "
    "are points of R@1 with 95% intervals over seeds: over the best score without training of as many dimensions, and "
    "over triplet loss with random positives and random semi-hard negatives, tuned alike. A gain that is not told "
    "apart is no reason to train."
)
COLUMNS = (
    Column("case", "Your case"),
    Column("noise", "Wrong labels"),
    Column("use", "Best method"),
    Column("same", "Over no training"),
    Column("usual", "Over the usual choice"),
    Column("sure", "Trained is"),
    Column("study", "Study", "name"),
)
CANNOT = (
    "What these studies cannot tell you: other classes and images (each has one class split), large networks and "
    "long training (a trial takes minutes on two cores), and the papers' own data (Cars and Flowers are subsets)."
)


def regimes(studies: Sequence[Results], file: Path | None) -> Table | None:
    """One row per case of the file whose study is among these; None without any.

    Raises
    ------
    ValueError : a row lacks one of `case`, `study`, `noise` and `rate`, or its study has no such noise rate.
    """
    known = {results.study.name: results for results in studies}
    asked = yaml.safe_load(file.read_text(encoding="utf-8")) if file and file.is_file() else None
    rows = [_row(known[row["study"]], row) for row in asked or () if row.get("study") in known]
    if not rows:
        return None
    better = sum(row["sure"] == "better" for row in rows)
    lead = f"Training is surely better than what needs none in {better} of {counted(len(rows), 'case')}."
    return Table("regimes", TITLE, f"{lead} {CAPTION} {CANNOT}", COLUMNS, pd.DataFrame(rows))


def regimes_in_short(studies: Sequence[Results], file: Path | None) -> list[str]:
    """The table of `regimes` as lines of Markdown, what it says before it and what it cannot say after it."""
    table = regimes(studies, file)
    if table is None:
        return []
    head = [column.label for column in COLUMNS]
    cells = [
        [row[column.key] for column in COLUMNS[:-1]] + [f"`{row['study']}`"] for row in table.frame.to_dict("records")
    ]
    lines = [f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head), *cells)]
    return [START, "", table.caption.removesuffix(CANNOT).strip(), "", *lines, "", CANNOT, "", END, ""]


def with_regimes(text: str, page: str) -> str:
    """A text with the table of a page in place of its own, if both have one between the marks."""
    before, start, rest = text.partition(START)
    _, found, table = page.partition(START)
    return "".join([before, start, table.partition(END)[0], END, rest.partition(END)[2]]) if start and found else text


def _row(results: Results, asked: dict[str, Any]) -> dict[str, str]:
    try:
        case, noise, rate = asked["case"], asked["noise"], float(asked["rate"])
    except KeyError as error:
        raise ValueError(f"{FILE}: a row has case, study, noise and rate; {asked} lacks {error}") from None
    found = [row for one, row in gain_rows(results) if one.noise == noise and abs(one.rate - rate) < SAME]
    if len(found) != 1:
        raise ValueError(f"{FILE}: {results.study.name} has no gain of {noise} noise at rate {rate}")
    dataset = results.conditions[0][0]
    usual = held_out(results, dataset, noise, rate)
    gain = NOTHING if usual is None or usual.gain is None else points(usual.gain)
    return {**found[0], "case": case, "usual": gain}
