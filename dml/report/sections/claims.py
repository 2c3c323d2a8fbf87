"""The study's claims, with their effects and verdicts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.analysis.intervals import CORRECTED, block_plural
from dml.report.labels import Texts
from dml.report.page.blocks import Block, ClaimEntry, ClaimList, Download, Paragraph
from dml.report.results import Results
from dml.report.verdicts import SIGNS, Verdict
from dml.report.wording import evidence, place_of, text_of

say = Texts(__file__)


class Claims:
    """What the study says about claims of a paper, or about its own."""

    anchor, title = "claims", "Claims"

    def applies(self, results: Results) -> bool:
        return bool(results.verdicts)

    def content(self, results: Results) -> Iterator[Block | None]:
        yield Paragraph(say("how", blocks=block_plural(results), corrected=f"; {CORRECTED}" if results.overlap else ""))
        yield ClaimList(tuple(map(_entry, results.verdicts)))
        yield Download("claims", frame(results), "The claims of this study as CSV", ".")


def frame(results: Results) -> pd.DataFrame:
    """One row per claim, or per value of its `each`."""
    rows = []
    for verdict in results.verdicts:
        comparison = verdict.comparison
        row = {
            "id": verdict.claim.id,
            "claim": text_of(verdict),
            "verdict": verdict.word,
            "compared": comparison.compared,
            "tuning": verdict.tuning or "tuned",
            "expected": str(comparison.expected),
            "unit": comparison.unit,
        }
        rest = {"p": verdict.p, "published": comparison.published, "reason": verdict.reason, "note": comparison.note}
        parts = [
            {"part": e.label, "effect": e.mean, "low": e.low, "high": e.high, "seeds": e.seeds} for e in verdict.effects
        ]
        none = {"part": "", "effect": np.nan, "low": np.nan, "high": np.nan, "seeds": 0}
        rows += [row | part | rest for part in parts or [none]]
    return pd.DataFrame(rows)


def _entry(verdict: Verdict) -> ClaimEntry:
    printed = verdict.claim.printed
    facts = (("Published", printed.published_effect),) if printed and printed.published_effect else ()
    href = f"claims.html#{verdict.claim.id or 'own'}"
    sign, tests = SIGNS[verdict.word], (evidence(verdict),)
    return ClaimEntry("", verdict.study, sign, verdict.word, place_of(verdict), text_of(verdict), facts, tests, href)
