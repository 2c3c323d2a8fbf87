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
from dml.report.analysis.flags import RISING, doubts
from dml.report.analysis.untrained import SAME, Baseline
from dml.report.gains import each_gain, said
from dml.report.labels import readable
from dml.report.methods import Method
from dml.report.numbers import points
from dml.report.numbers import rate as written
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.texts import Texts
from dml.report.tuning import after_comma

say = Texts(__file__)

FILE = "regimes.yaml"
START, END = "<!-- regimes: written by pipelines/overview.py -->", "<!-- end -->"
TITLE = "What to do"
PROJECTIONS = {"whitened": "whiten", "components": "principal components", "LDA": "LDA"}
NAMES = {"given": "of people's labels"}
COLUMNS = (
    Column("case", "Case"),
    Column("wrong", "Wrong labels"),
    Column("do", "Do this"),
    Column("gain", "Gain"),
    Column("study", "Study", "name"),
)


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
    better = sum(row["pays"] for row in rows)
    lead = say("lead", better=better, cases=counted(len(rows), "case"))
    return Table("regimes", TITLE, "", COLUMNS, pd.DataFrame(rows), lead, say("limits"))


def with_regimes(text: str, page: str) -> str:
    """A text with the table of a page in place of its own, if both have one between the marks."""
    before, start, rest = text.partition(START)
    _, found, table = page.partition(START)
    return "".join([before, start, table.partition(END)[0], END, rest.partition(END)[2]]) if start and found else text


def _row(results: Results, asked: dict[str, Any]) -> dict[str, Any]:
    try:
        case, noise, rate = asked["case"], asked["noise"], float(asked["rate"])
    except KeyError as error:
        raise ValueError(f"{FILE}: a row has case, study, noise and rate; {asked} lacks {error}") from None
    gains = [(one, same) for one, same, _ in each_gain(results, oracles=False)]
    found = [both for both in gains if both[0].noise == noise and abs(both[0].rate - rate) < SAME]
    if len(found) != 1:
        raise ValueError(f"{FILE}: {results.study.name} has no gain of {noise} noise at rate {rate}")
    gain, same = found[0]
    method, rising = _trained(results.methods[gain.best]), RISING in doubts(results, gain.best)
    do = cheap = _without_training(gain.untrained)
    if said(gain.gain) == "better":
        do = f"train: {method}"
    elif same is not None and said(same.gain) == "better":
        do = f"{cheap}; for {same.untrained.length} dimensions train: {method}"
    elif said(gain.gain) != "worse":
        do = f"{cheap} (not told apart from training: {method})"
    return {
        "case": case,
        "wrong": f"{written(rate)} {NAMES.get(noise, noise)}" if rate else "none",
        "do": do,
        "gain": points(gain.gain) + after_comma(RISING if rising else ""),
        "study": results.study.name,
        "pays": said(gain.gain) == "better" and not rising,
    }


def _trained(method: Method) -> str:
    """`multi similarity (all pairs)`, `triplet (easy positives, semihard random negatives)`."""
    tuples = f"{method.positives} positives, {method.negatives} negatives" if method.positives else method.negatives
    if method.positives == method.negatives and method.positives:
        tuples = f"{method.positives} pairs"
    told = "; ".join(filter(None, (readable(tuples), method.variant)))
    return readable(method.loss) + (f" ({told})" if told else "")


def _without_training(baseline: Baseline) -> str:
    """`whiten`, `LDA to 64 dimensions`, `pixels as they are`."""
    _, comma, projection = baseline.label.rpartition(", ")
    to = f" to {baseline.length} dimensions" if baseline.length else ""
    return PROJECTIONS[projection.rpartition(" ")[2]] + to if comma else f"{projection} as they are"
