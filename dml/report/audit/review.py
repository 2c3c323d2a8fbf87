"""What the review mode needs: the images to look at, and examples of their classes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dml import seeding
from dml.audit import Audit, ReviewPlan
from dml.report.audit.album import Album

EXAMPLES = 6  # of a class, at most,
EXAMPLES_IN_ALL = 200  # and of all classes together, but at least 2 of each
LEAST_SUSPICIOUS = 0.5  # the share of a class that its examples are drawn from


def examples(found: Audit, plan: ReviewPlan) -> dict[str, list[int]]:
    """A few images of each given class in the plan, by the class: for comparison.

    They are drawn from the least suspicious half, because wrong examples would mislead, and by chance within it,
    because the least suspicious images look all alike. No image of the plan is among them: its label is in question.
    """
    classes = np.unique(plan.given)
    count = int(np.clip(EXAMPLES_IN_ALL // max(1, len(classes)), 2, EXAMPLES))
    draw = seeding.numpy_generator(0, "audit/examples")
    judged = np.flatnonzero(np.isfinite(found.score))
    order = judged[np.lexsort((found.score[judged], found.labels[judged]))]
    starts = np.searchsorted(found.labels[order], classes, side="left")
    ends = np.searchsorted(found.labels[order], classes, side="right")
    out = {}
    for given, start, end in zip(classes, starts, ends, strict=True):
        surest = order[start : start + max(count, round(LEAST_SUSPICIOUS * (end - start)))][: end - start]
        left = surest[~np.isin(surest, plan.rows)]
        out[str(given)] = [int(row) for row in draw.permutation(left)[:count]]
    return out


def payload(
    found: Audit,
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
        "classes": [str(label) for label in np.unique(found.labels)],
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
