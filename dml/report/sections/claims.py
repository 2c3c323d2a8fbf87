"""The study's claims, with their effects and verdicts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.analysis.effects import unit
from dml.report.analysis.interval_coverage import CORRECTED, over
from dml.report.page.blocks import Block, ClaimEntry, ClaimList, Download, Paragraph
from dml.report.results import Results
from dml.report.texts import Texts
from dml.report.verdicts import SIGNS, Verdict
from dml.report.wording import compared, evidence, expected

say = Texts(__file__)


class Claims:
    """What the study says about claims of a paper, or about its own."""

    anchor, title = "claims", "Claims"

    def applies(self, results: Results) -> bool:
        """The study has claims."""
        return bool(results.verdicts)

    def content(self, results: Results) -> Iterator[Block | None]:
        """Each claim with its effect, and a CSV file."""
        yield Paragraph(say("how", over=over(results), corrected=f"; {CORRECTED}" if results.overlap else ""))
        yield ClaimList(tuple(map(_entry, results.verdicts)))
        yield Download("claims", frame(results), "The claims of this study as CSV", ".")


def frame(results: Results) -> pd.DataFrame:
    """One row per claim, or per value of its `each`."""
    rows = []
    for verdict in results.verdicts:
        claim = verdict.claim
        row = {
            "id": claim.claim,
            "claim": _text(verdict),
            "verdict": verdict.word,
            "compared": compared(claim, verdict.objective),
            "tuning": verdict.tuning or "tuned",
            "expected": expected(claim),
            "unit": unit(claim),
        }
        rest = {"p": verdict.p, "published": claim.published, "reason": verdict.reason, "note": claim.note}
        none = {"part": "", "effect": np.nan, "low": np.nan, "high": np.nan, "seeds": 0}
        parts = [
            {"part": e.label, "effect": e.mean, "low": e.low, "high": e.high, "seeds": e.seeds} for e in verdict.effects
        ]
        rows += [row | part | rest for part in parts or [none]]
    return pd.DataFrame(rows)


def _entry(verdict: Verdict) -> ClaimEntry:
    claim, printed = verdict.claim, verdict.claim.printed
    place = f"{printed.paper}, {printed.place}" if printed else ", ".join(filter(None, (claim.paper, claim.place)))
    facts = (("Published", printed.published_effect),) if printed and printed.published_effect else ()
    href = f"claims.html#{claim.claim or 'own'}"
    sign, found = SIGNS[verdict.word], (evidence(verdict),)
    return ClaimEntry("", verdict.study, sign, verdict.word, place, _text(verdict), facts, found, href)


def _text(verdict: Verdict) -> str:
    return verdict.claim.printed.claim if verdict.claim.printed else verdict.claim.text
