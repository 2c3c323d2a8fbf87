"""The tables of an audit's page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dml.audit import Audit
from dml.report.page.tables import Column, Table
from dml.report.texts import Texts, joined

say = Texts(__file__)

MOST = 300  # rows of a table


def classes(found: Audit) -> Table | None:
    """One row for each class that has suspects, the most suspicious first; None if there are none."""
    frame = found.classes()
    frame = frame[frame["suspects"] > 0]
    frame = frame.sort_values(["share", "suspects"], ascending=False, kind="stable")
    frame = frame.assign(
        given=frame["given"].map(str), share=100 * frame["share"], confused_with=frame["confused_with"].map(_text)
    )
    columns = (
        Column("given", "Class", "name"),
        Column("images", "Images", "count"),
        Column("suspects", "Suspected", "count"),
        Column("share", "Suspected (%)", "percent"),
        Column("confused_with", "Mostly look like", "name"),
    )
    return _table("classes", "By class", say("classes"), columns, frame)


def confusions(found: Audit) -> Table | None:
    """One row for each pair of classes; None if there are none."""
    frame = found.confusions()
    sizes = dict(zip(*np.unique(found.labels, return_counts=True), strict=True))
    frame["share"] = [100 * count / sizes[given] for given, count in zip(frame["given"], frame["count"], strict=True)]
    frame = frame.assign(given=frame["given"].map(str), suggested=frame["suggested"].map(str))
    columns = (
        Column("given", "Called", "name"),
        Column("suggested", "Look like", "name"),
        Column("count", "Images", "count"),
        Column("share", "Of the class (%)", "percent"),
    )
    return _table("confusions", "By pair of classes", say("confusions"), columns, frame)


def _table(name: str, title: str, caption: str, columns: Sequence[Column], frame: pd.DataFrame) -> Table | None:
    if frame.empty:
        return None
    if len(frame) > MOST:
        caption = joined(caption, say("first", most=MOST, rows=f"{len(frame):,}"))
    return Table(name, title, caption, tuple(columns), frame.head(MOST).reset_index(drop=True))


def _text(value: object) -> str | None:
    return None if value is None or value is pd.NA or value != value else str(value)
