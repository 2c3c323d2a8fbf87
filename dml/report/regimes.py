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
from dml.report.analysis.untrained import SAME
from dml.report.gains import gain_rows
from dml.report.in_short import rows_in_markdown
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.tuning import after_comma

FILE = "regimes.yaml"
START, END = "<!-- regimes: written by pipelines/overview.py -->", "<!-- end -->"
TITLE = "What to do"
CAPTION = (
    "All are tuned; validation classes choose the method (loss, positives + negatives), test classes judge. Gain: "
    "points of R@1 over the best score of as many dimensions without training, 95% interval over seeds. Below the "
    "baseline: more dimensions without training score higher. An oracle knows the true rate."
)
COLUMNS = (
    Column("case", "Case"),
    Column("wrong", "Wrong labels"),
    Column("do", "Do this"),
    Column("gain", "Gain"),
    Column("study", "Study", "name"),
)
CANNOT = "Not known: other classes (one split each), large networks, long training, the whole of Cars and Flowers."


def regimes(studies: Sequence[Results], file: Path | None) -> Table | None:
    """One row per case of the file whose study is among these; None without any.

    Raises
    ------
    ValueError : a row of one of these studies lacks `case`, `noise` or `rate`, or the study has no such noise rate.
    """
    known = {results.study.name: results for results in studies}
    asked = yaml.safe_load(file.read_text(encoding="utf-8")) if file and file.is_file() else None
    rows = [_row(known[row["study"]], row) for row in asked or () if row.get("study") in known]
    if not rows:
        return None
    better = sum(row["sure"] == "better" for row in rows)
    lead = f"Training surely pays in {better} of {counted(len(rows), 'case')}."
    return Table("regimes", TITLE, f"{lead} {CAPTION} {CANNOT}", COLUMNS, pd.DataFrame(rows))


def regimes_in_short(studies: Sequence[Results], file: Path | None) -> list[str]:
    """The table of `regimes` as lines of Markdown, what it says before it and what it cannot say after it."""
    table = regimes(studies, file)
    if table is None:
        return []
    return [
        START,
        "",
        table.caption.removesuffix(CANNOT).strip(),
        "",
        *rows_in_markdown(table),
        "",
        CANNOT,
        "",
        END,
        "",
    ]


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
    found = [(one, row) for one, row in gain_rows(results) if one.noise == noise and abs(one.rate - rate) < SAME]
    if len(found) != 1:
        raise ValueError(f"{FILE}: {results.study.name} has no gain of {noise} noise at rate {rate}")
    gain, row = found[0]
    said, _, flags = row["sure"].partition(", ")
    cheap = f"no training: {gain.untrained.label.rpartition(', ')[2]}"
    do = {"better": row["use"], "worse": cheap}.get(said, f"{row['use']}, or {cheap}")
    return {
        **row,
        "case": case,
        "wrong": row["noise"].removesuffix(" noise"),
        "do": do,
        "gain": row["same"] + after_comma(flags),
    }
