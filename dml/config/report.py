"""The section `report`: what a study's page shows besides what its results decide."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from dml.config.terms import Seed, StudySection
from dml.types import Name

Names = Annotated[
    list[Name],
    Field(min_length=1),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, Name | list[Name]),
]
EmbeddingFigure = Literal["retrieval", "similarities", "tsne", "spectrum"]


class BaseSection(StudySection):
    """With which choice of positives or negatives the others are compared: a name, or a list of them."""

    positives: Names | None = Field(None, description="a name or a list; none: the first of the study")
    negatives: Names | None = Field(None, description="a name or a list; none: the first of the study")


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
    base: BaseSection = Field(
        default_factory=BaseSection, description="with which choices of positives and negatives the others are compared"
    )
