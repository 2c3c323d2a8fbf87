"""How a section of the theory page states its verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from dml.report.page.blocks import Facts
from dml.report.sections import TheoryVerdict


def stated(verdicts: Sequence[TheoryVerdict], names: Sequence[str]) -> Facts:
    """Each claim by its short name, with its verdict, the finding and, where there is one, the corrected statement."""
    items = []
    for verdict, name in zip(verdicts, names, strict=True):
        corrected = f" Corrected: {verdict.corrected}" if verdict.corrected else ""
        items.append((f"{name}: {verdict.verdict}", verdict.finding + corrected))
    return Facts(tuple(items))
