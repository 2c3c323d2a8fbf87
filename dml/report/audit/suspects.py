"""The suspects as a page shows them: what they are called, what they look like, and their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dml.audit import Audit
from dml.report.audit.nearest import nearest

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
    found: Audit, vectors: np.ndarray, name: Callable[[int], str], answers: Mapping[int, str]
) -> list[Suspect]:
    """The most suspicious images, `MOST` at most, the worst first.

    Parameters
    ----------
    vectors : floats (n, D), of which neighbours are the nearest.
    name : a row -> what the image is called.
    answers : a row -> right, wrong or unsure.
    """
    chosen = np.flatnonzero(found.suspects())
    rows = chosen[np.argsort(-found.score[chosen], kind="stable")][:MOST]
    if not len(rows):
        return []
    places, cosines = nearest(vectors, rows, NEIGHBOURS)
    duplicate = float(found.settings["duplicates"])

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
