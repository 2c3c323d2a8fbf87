"""What a computation says about a claim of a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class TheoryVerdict:
    """The verdict on one claim, always made from computed numbers."""

    claim: str  # the claim's id, `<paper>-<slug>`
    verdict: Literal["confirmed", "refuted", "undecided"]
    finding: str  # one or two sentences with the numbers
    corrected: str = ""  # the statement that holds instead, if the printed one does not
