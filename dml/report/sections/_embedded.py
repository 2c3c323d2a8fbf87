"""What the sections share that a study asks for in `report.figures`."""

from __future__ import annotations

from dml.report.page.blocks import Paragraph
from dml.report.results import Results

ABSENT = Paragraph("The embeddings of these trials are not in the store of this machine, so they are not drawn.")


def asked(results: Results, figure: str) -> bool:
    """Whether the study asks for a figure of embeddings, and has confirmed trials."""
    return figure in results.study.report.figures and not results.confirmed.empty
