"""Writes the page of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from dml import files
from dml.audit import Audit, ReviewPlan, estimate
from dml.report import numbers
from dml.report.audit import review as review_mode
from dml.report.audit import suspects, tables
from dml.report.audit.album import Images, album
from dml.report.page.cells import rows
from dml.report.page.html import environment
from dml.report.texts import Texts

say = Texts(__file__)

PAIRS = 24  # near-duplicates that contradict each other
BEYOND = 60  # classes that are named as beyond judgement
COMMANDS = ((say("review"), "dml audit <study> --review review.csv"),)
STYLES = ("report/page/templates/style.css", "report/audit/templates/audit.css")
SCRIPTS = (
    *("report/page/templates/table.js", "report/page/templates/scroll.js"),
    *("report/audit/templates/cards.js", "report/audit/templates/csv.js", "report/audit/templates/review.js"),
)


def write_page(
    path: Path,
    found: Audit,
    plan: ReviewPlan,
    *,
    title: str,
    vectors: np.ndarray | Sequence[np.ndarray],
    images: Images | None,
    folds: np.ndarray | None = None,
    paths: Sequence[str] | None = None,
    review: pd.DataFrame | None = None,
    note: str = "",
    commands: Sequence[tuple[str, str]] = COMMANDS,
) -> None:
    """Write an audit's page: one HTML file that needs nothing else, and sends nothing anywhere.

    Pictures are small copies; with 200 images to review and 100 suspects the file has less than 3 MB.

    Parameters
    ----------
    vectors : floats (n, D), the representation whose neighbours are shown; of a learned one, an array for each fold.
    folds : int64 (n,), the fold of each image (`dml.audit.folds_of`), if there is an array for each.
    images : rows (m,) -> their pixels, uint8 (m, H, W, 1 or 3). None: the page has no pictures.
    paths : the n images' names.
    review : an earlier review: the columns index and answer, and label if right classes were named. The page then shows
        the estimate, and its review mode begins with these answers.
    note : a sentence at the top.
    commands : what to do with a saved review: sentences and the commands that they introduce.

    Raises
    ------
    ValueError : the plan, the vectors or the paths belong to another audit, or the review does not fit the plan (see
        `dml.audit.estimate`).
    """
    for each in [vectors] if folds is None else vectors:
        _check(found, plan, np.asanyarray(each), paths)
    answered = review_mode.answers(review)
    estimated = None if review is None or review.empty else estimate(plan, review)

    def name(row: int) -> str:
        return str(paths[row]) if paths is not None else f"image {row}"

    shown = suspects.suspects(found, vectors, name, {row: a["answer"] for row, a in answered.items()}, folds)
    pairs = found.duplicates.head(PAIRS).to_dict("records")
    examples = review_mode.examples(found, plan)
    small = [near.row for suspect in shown for near in suspect.near]
    small += [row for chosen in examples.values() for row in chosen]
    small += [int(pair[side]) for pair in pairs for side in ("first", "second")]
    pictures = album(images, plan.rows.tolist(), [suspect.row for suspect in shown], small)
    templates = environment("dml.report.audit")
    templates.filters |= {"rate": rate, "chance": chance, "breaks": breaks, "cells": rows}
    text = templates.get_template("audit.html").render(
        title=title,
        note=note,
        found=found,
        plan=plan,
        judged=int(np.isfinite(found.score).sum()),
        suspected=int(found.suspects().sum()),
        classes=len(np.unique(found.labels)),
        estimate=estimated,
        at_estimate=None if estimated is None else int(found.suspects(estimated.rate).sum()),
        reviewed=len(answered),
        suspects=shown,
        tables=[table for table in (tables.classes(found), tables.confusions(found)) if table is not None],
        pairs=pairs,
        beyond=sorted(((str(label), count) for label, count in found.beyond.items()))[:BEYOND],
        name=name,
        album=pictures,
        commands=commands,
        review=review_mode.payload(
            found, plan, examples, pictures, name if paths is not None else lambda row: "", review
        ),
        css=inline(STYLES),
        js=inline(SCRIPTS),
    )
    files.write_text(Path(path), text)


def _check(found: Audit, plan: ReviewPlan, vectors: np.ndarray, paths: Sequence[str] | None) -> None:
    n = len(found.labels)
    if plan.digest != found.digest:
        raise ValueError(f"audit page: the review plan {plan.digest[:12]} is not one of the audit {found.digest[:12]}")
    if np.ndim(vectors) != 2 or len(vectors) != n:
        raise ValueError(f"audit page: vectors: expected ({n}, D), one for each image, got {np.shape(vectors)}")
    if paths is not None and len(paths) != n:
        raise ValueError(f"audit page: paths: expected {n}, one for each image, got {len(paths)}")


def rate(value: float) -> str:
    """A share with one decimal below 10%, else as a whole percentage."""
    return numbers.rate(round(value, 3 if value < 0.1 else 2)) if np.isfinite(value) else numbers.NOTHING


def chance(value: float) -> str:
    """As a whole percentage, but never certain."""
    return "over 99%" if value >= 0.995 else rate(round(value, 2))


def breaks(name: str) -> Markup:
    """A path that can be broken after its folders."""
    return Markup(escape(name).replace("/", Markup("/<wbr>")))


def inline(names: Sequence[str]) -> Markup:
    """Styles or scripts of the package, as they are."""
    root = Path(__file__).parents[2]
    return Markup("\n".join((root / name).read_text(encoding="utf-8") for name in names))
