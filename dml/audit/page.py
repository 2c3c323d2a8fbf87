"""The page of an audit: one HTML file with suspects, tables and a review mode, which saves `review.csv` (UTF-8).

Its columns: index, path, given; answer (right, wrong or unsure), label (the right class, if named); audit (the plan's
digest). All but index are text: read it with `keep_default_na=False`. `dml.audit.estimate` takes it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from dml import files, seeding
from dml.audit import Audit, ReviewPlan, estimate
from dml.audit import pictures as suspects
from dml.audit.pictures import Album, Images, album
from dml.report import numbers
from dml.report.labels import Texts, joined
from dml.report.page.blocks import Column, Table, rows
from dml.report.page.html import environment

say = Texts(__file__)

MOST = 300  # rows of a table


def classes(audit: Audit) -> Table | None:
    """One row for each class that has suspects, the most suspicious first; None if there are none."""
    frame = audit.classes()
    frame = frame[frame["suspects"] > 0].sort_values(["share", "suspects"], ascending=False, kind="stable")
    frame = frame.assign(
        given=frame["given"].map(str),
        share=100 * frame["share"],
        confused_with=frame["confused_with"].map(str, na_action="ignore"),
    )
    columns = (
        Column("given", "Class", "name"),
        Column("images", "Labels", "count"),
        Column("suspects", "Suspected", "count"),
        Column("share", "Suspected (%)", "percent"),
        Column("confused_with", "Mostly look like", "name"),
    )
    return _table("classes", "By class", say("classes"), columns, frame)


def confusions(audit: Audit) -> Table | None:
    """One row for each pair of classes; None if there are none."""
    frame = audit.confusions()
    sizes = dict(zip(*np.unique(audit.labels, return_counts=True), strict=True))
    frame["share"] = [100 * count / sizes[given] for given, count in zip(frame["given"], frame["count"], strict=True)]
    frame = frame.assign(given=frame["given"].map(str), suggested=frame["suggested"].map(str))
    columns = (
        Column("given", "Called", "name"),
        Column("suggested", "Look like", "name"),
        Column("count", "Labels", "count"),
        Column("share", "Of the class (%)", "percent"),
    )
    return _table("confusions", "By pair of classes", say("confusions"), columns, frame)


def _table(name: str, title: str, caption: str, columns: Sequence[Column], frame: pd.DataFrame) -> Table | None:
    if frame.empty:
        return None
    if len(frame) > MOST:
        caption = joined(caption, say("first", most=MOST, rows=f"{len(frame):,}"))
    return Table(name, title, caption, tuple(columns), frame.head(MOST).reset_index(drop=True))


EXAMPLES = 6  # of a class, at most,
EXAMPLES_IN_ALL = 200  # and of all classes together, but at least 2 of each


def class_examples(audit: Audit, plan: ReviewPlan) -> dict[str, list[int]]:
    """A few images of each given class, drawn from its least suspicious half, without those of the plan."""
    classes = np.unique(plan.given)
    count = int(np.clip(EXAMPLES_IN_ALL // max(1, len(classes)), 2, EXAMPLES))
    order = np.argsort(audit.score, kind="stable")[: int(np.isfinite(audit.score).sum())]
    of_class = pd.Series(order).groupby(audit.labels[order])
    trusted = order[of_class.cumcount() < of_class.transform("size") / 2]
    drawn = seeding.numpy_generator(0, "audit/examples").permutation(trusted)
    drawn = drawn[~np.isin(drawn, plan.rows)]
    shown = drawn[pd.Series(drawn).groupby(audit.labels[drawn]).cumcount() < count]
    return {str(given): shown[audit.labels[shown] == given].tolist() for given in classes}


def payload(
    audit: Audit,
    plan: ReviewPlan,
    shown: Mapping[str, list[int]],
    album: Album,
    paths: Callable[[int], str],
    review: pd.DataFrame | None,
) -> dict[str, Any]:
    """The review mode's data, for JSON. The strata are not among them: the reader must not know them."""
    looks = [
        {
            "index": int(row),
            "path": paths(int(row)),
            "given": str(given),
            "suggested": str(suggested),
            "picture": album.large.get(int(row), ""),
        }
        for row, given, suggested in zip(plan.rows, plan.given, plan.suggested, strict=True)
    ]
    drawn = hashlib.sha256(np.ascontiguousarray(plan.rows, dtype=np.int64).tobytes()).hexdigest()
    return {
        "audit": plan.digest,
        "key": f"dml-audit-{plan.digest[:16]}-{drawn[:8]}",  # another draw of the same audit is another review
        "looks": looks,
        "examples": {given: [album.small[row] for row in rows if row in album.small] for given, rows in shown.items()},
        "classes": [str(label) for label in np.unique(audit.labels)],
        "earlier": answers(review),
    }


def answers(review: pd.DataFrame | None) -> dict[int, dict[str, str]]:
    """An earlier review's answers and right classes, by image."""
    if review is None:
        return {}
    labels = review["label"] if "label" in review.columns else [""] * len(review)
    return {
        int(row): {"answer": str(answer), "label": "" if pd.isna(label) else str(label)}
        for row, answer, label in zip(review["index"], review["answer"], labels, strict=True)
    }


PAIRS = 24  # near-duplicates that contradict each other
BEYOND = 60  # classes that are named as beyond judgement
COMMANDS = ((say("review"), "dml audit <study> --review review.csv"),)
STYLES = ("report/page/templates/style.css", "audit/templates/audit.css")
SCRIPTS = (
    *("report/page/templates/table.js", "report/page/templates/scroll.js"),
    *("audit/templates/cards.js", "audit/templates/csv.js", "audit/templates/review.js"),
)


def write_page(
    path: Path,
    audit: Audit,
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
    """Write an audit's page: one HTML file of less than 3 MB that needs nothing else, and sends nothing anywhere.

    Parameters
    ----------
    vectors : floats (n, D), the representation whose neighbours are shown; of a learned one, an array for each fold.
    folds : int64 (n,), the fold of each image (`dml.audit.folds_of`), if there is an array for each.
    images : rows (m,) -> their pixels, uint8 (m, H, W, 1 or 3). None: the page has no pictures.
    paths : the n images' names.
    review : an earlier review (columns index, answer and perhaps label), with whose answers the review mode begins.
    commands : what to do with a saved review: sentences and the commands that they introduce.

    Raises
    ------
    ValueError : the plan, the vectors or the paths belong to another audit, or the review does not fit the plan.
    """
    for each in [vectors] if folds is None else vectors:
        _check(audit, plan, np.asanyarray(each), paths)
    answered = answers(review)
    estimated = None if review is None or review.empty else estimate(plan, review)

    def name(row: int) -> str:
        return str(paths[row]) if paths is not None else f"image {row}"

    shown = suspects.suspects(audit, vectors, name, {row: a["answer"] for row, a in answered.items()}, folds)
    pairs = audit.duplicates.head(PAIRS).to_dict("records")
    examples = class_examples(audit, plan)
    small = [near.row for suspect in shown for near in suspect.near]
    small += [row for rows_of_class in examples.values() for row in rows_of_class]
    small += [int(pair[side]) for pair in pairs for side in ("first", "second")]
    pictures = album(images, plan.rows.tolist(), [suspect.row for suspect in shown], small)
    templates = environment("dml.audit")
    templates.filters |= {"rate": rate, "chance": chance, "breaks": breaks, "cells": rows}
    text = templates.get_template("audit.html").render(
        title=title,
        note=note,
        audit=audit,
        plan=plan,
        judged=int(np.isfinite(audit.score).sum()),
        suspected=int(audit.suspects().sum()),
        classes=len(np.unique(audit.labels)),
        estimate=estimated,
        at_estimate=None if estimated is None else int(audit.suspects(estimated.rate).sum()),
        reviewed=len(answered),
        suspects=shown,
        tables=[table for table in (classes(audit), confusions(audit)) if table is not None],
        pairs=pairs,
        beyond=sorted(((str(label), count) for label, count in audit.beyond.items()))[:BEYOND],
        name=name,
        album=pictures,
        commands=commands,
        review=payload(audit, plan, examples, pictures, name if paths is not None else lambda row: "", review),
        css=inline(STYLES),
        js=inline(SCRIPTS),
    )
    files.write_text(Path(path), text)


def _check(audit: Audit, plan: ReviewPlan, vectors: np.ndarray, paths: Sequence[str] | None) -> None:
    n = len(audit.labels)
    if plan.digest != audit.digest:
        raise ValueError(f"audit page: the review plan {plan.digest[:12]} is not one of the audit {audit.digest[:12]}")
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
    """A path or label that can be broken after its folders and words."""
    return Markup(re.sub("([/_])", r"\1<wbr>", str(escape(name))))  # of a Markup, `sub` would escape what it puts in


def inline(names: Sequence[str]) -> Markup:
    """Styles or scripts of the package, as they are."""
    root = Path(__file__).parents[1]
    return Markup("\n".join((root / name).read_text(encoding="utf-8") for name in names))
