"""The suspects as a page shows them: what they are called, what they look like, and their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dml.audit import Audit
from dml.report.audit.nearest import nearest, nearest_by_fold

MOST = 100  # suspects on a page
NEIGHBOURS = 5  # of each


@dataclass(frozen=True)
class Near:
    """A neighbour."""

    row: int
    name: str
    given: str
    similarity: float  # cosine
    agrees: bool  # with the suspect's given label
    duplicate: bool  # so similar that it is a near-duplicate


@dataclass(frozen=True)
class Suspect:
    """An image whose label is probably wrong."""

    row: int
    name: str
    given: str
    suggested: str
    wrong: float  # the chance
    near: tuple[Near, ...]
    answer: str  # of an earlier review; "": none


def suspects(
    found: Audit,
    vectors: np.ndarray | Sequence[np.ndarray],
    name: Callable[[int], str],
    answers: Mapping[int, str],
    folds: np.ndarray | None = None,
) -> list[Suspect]:
    """The most suspicious images, `MOST` at most, the worst first.

    Parameters
    ----------
    vectors : floats (n, D), of which neighbours are the nearest.
    name : a row -> what the image is called.
    answers : a row -> right, wrong or unsure.
    folds : int64 (n,), the fold of each image, if there are vectors for each fold. They were learned and map the images
        of a class to nearly one point, so that none is called a near-duplicate.
    """
    chosen = np.flatnonzero(found.suspects())
    rows = chosen[np.argsort(-found.score[chosen], kind="stable")][:MOST]
    if not len(rows):
        return []
    if folds is None:
        places, cosines = nearest(np.asarray(vectors), rows, NEIGHBOURS)
        duplicate = float(found.settings["duplicates"])
    else:
        places, cosines = nearest_by_fold(list(vectors), folds, rows, NEIGHBOURS)
        duplicate = np.inf

    def near(row: int, place: Any, cosine: Any) -> Near:
        same = bool(found.labels[place] == found.labels[row])
        close = float(cosine)
        return Near(int(place), name(int(place)), str(found.labels[place]), close, same, close >= duplicate)

    return [
        Suspect(
            int(row),
            name(int(row)),
            str(found.labels[row]),
            str(found.suggested[row]),
            float(found.wrong[row]),
            tuple(near(row, place, cosine) for place, cosine in zip(places[i], cosines[i], strict=True)),
            answers.get(int(row), ""),
        )
        for i, row in enumerate(rows)
    ]
