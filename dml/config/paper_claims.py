"""The claims of the project's papers: `papers/<paper>/claims.csv`, one row per claim, named by a study's `claims`.

Each is read from the paper and its supplement, in the project's own words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from dml.papers import Paper, papers

FILE = "claims.csv"


@dataclass(frozen=True)
class PaperClaim:
    """One claim of a paper. Of the file's columns, `id`, `claim` and `decided_by` are required."""

    id: str  # begins with the paper's name and a hyphen
    paper: str
    claim: str
    decided_by: str  # "theory", "cpu" or "data"
    place: str = ""
    published_effect: str = ""  # "": the paper gives no number
    needs: tuple[str, ...] = ()  # the sources that the claim is about, if only their data can decide it
    comparison: str = ""  # what would decide it
    note: str = ""
    no_study: str = ""  # why no study decides it, if networks could

    @property
    def least_sources(self) -> int:
        """On how many datasets the claim must be confirmed, as its comparison says."""
        found = re.search(r"at least (\d+) data sets", self.comparison)
        return int(found[1]) if found else 1


def paper_claims() -> dict[str, PaperClaim]:
    """All claims by id, in the order of the papers.

    Raises
    ------
    ValueError : a row lacks a column or has an unknown one, or an id does not begin with the paper's name.
    """
    return _claims(papers())


@cache
def _claims(of: tuple[Paper, ...]) -> dict[str, PaperClaim]:
    found = [_claim(paper, row) for paper in of for row in paper.rows(FILE)]
    return {claim.id: claim for claim in found}


def _claim(paper: Paper, row: dict[str, str]) -> PaperClaim:
    columns: dict[str, Any] = {**row, "paper": paper.name, "needs": tuple(row.get("needs", "").split())}
    try:
        claim = PaperClaim(**columns)
    except TypeError as error:
        raise ValueError(f"{paper.folder / FILE}: wrong columns: {error}") from error
    if not claim.id.startswith(f"{paper.name}-"):
        raise ValueError(f"{paper.folder / FILE}: expected an id that begins with '{paper.name}-', got {claim.id!r}")
    return claim
