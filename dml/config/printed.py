"""The claims of the four papers: `claims.csv`, one row per claim, named by a study's `claims`.

Source: read from the papers and their supplements (Levi et al.: `eps`; Vasudeva et al.: `loop`; Le, Odobez: `noise`;
the poster of Ustinova, Lempitsky: `histogram`), each claim in our own words. `published_effect` contains the papers'
numbers, `decided_by` is `theory`, `cpu` or `data`, and `comparison` says what would decide the claim.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("claims.csv")
DATA = {
    "cars196": r"\bCars(196)?\b",
    "cub200": r"\bCUB\b",
    "sop": r"\bSOP\b|\bOnline Products\b",
    "flowers102": r"\bFlowers\b",
    "cuhk03": r"\bCUHK03\b",
    "market1501": r"\bMarket-1501\b",
}
"""Sources that cannot be replaced where a claim is about them, and how the papers write them."""


@dataclass(frozen=True)
class PrintedClaim:
    """One claim of a paper."""

    id: str
    paper: str
    place: str
    claim: str
    published_effect: str  # "": the paper gives no number
    decided_by: str  # "theory", "cpu" or "data"
    comparison: str
    note: str
    no_study: str  # why no study decides it, if networks could

    @property
    def needs(self) -> tuple[str, ...]:
        """The sources that the claim is about, if only their data can decide it."""
        if self.decided_by != "data":
            return ()
        text = " ".join((self.place, self.claim, self.published_effect))
        return tuple(source for source, pattern in DATA.items() if re.search(pattern, text))

    @property
    def least_sources(self) -> int:
        """On how many datasets the claim must be confirmed, as its comparison says."""
        found = re.search(r"at least (\d+) data sets", self.comparison)
        return int(found[1]) if found else 1


@cache
def printed() -> dict[str, PrintedClaim]:
    """All claims by id, in the order of the papers."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["id"]: PrintedClaim(**row) for row in csv.DictReader(file)}
