"""The section `report`: what a study's page shows besides what its results decide."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dml.config.terms import Seed, StudySection

EmbeddingFigure = Literal["retrieval", "similarities", "tsne", "spectrum"]


class ReportSection(StudySection):
    """What a study's page shows."""

    figures: list[EmbeddingFigure] = Field(
        [], description="further figures, of kept embeddings; [figures](studies.md#the-studys-page-report) says which"
    )
    cells: dict[str, Any] = Field(
        {},
        description="attributes of the cells that the figures of embeddings show; none: the first six of each dataset",
    )
    queries: int = Field(6, ge=1, le=40, description="of `retrieval`")
    neighbors: int = Field(5, ge=1, le=20, description="of each query in `retrieval`")
    seed: Seed = Field(0, description="of random queries, of samples of images and pairs, and of t-SNE")
