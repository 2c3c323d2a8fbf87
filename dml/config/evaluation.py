"""The sections `evaluation` and `published`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from dml import evaluation
from dml.config.terms import EvaluationSet, Level, Name, StudySection
from dml.types import EvaluationSpec


class EvaluationSection(StudySection):
    """What is measured, on clean labels. Defaults are those of `dml.types.EvaluationSpec`."""

    metrics: list[Name] = Field(list(EvaluationSpec.metrics), min_length=1)
    every: int | None = Field(
        EvaluationSpec.every, ge=1, description="steps between evaluations; none: only at the end"
    )
    sets: list[EvaluationSet] = Field(["test"], min_length=1)
    keep_embeddings: bool = EvaluationSpec.keep_embeddings
    keep_start_embeddings: bool = Field(
        EvaluationSpec.keep_start_embeddings, description="those of the network before its first step"
    )
    over_clustering: int = Field(EvaluationSpec.over_clustering, ge=1, description="clusters per class for nmi+")
    nmi_average: Literal["arithmetic", "geometric"] = "arithmetic"
    clustering_start: Literal["kmeans++", "random"] = Field(
        "kmeans++", description="first centres of k-means; random: as the papers' evaluations start"
    )

    @model_validator(mode="after")
    def _check(self) -> EvaluationSection:
        for name in self.metrics:
            evaluation.check_metric(name)
        return self

    def spec(self, phase: str) -> EvaluationSpec:
        """The record that a trial takes: a tuning trial is measured on validation classes only."""
        given = self.model_dump()
        given |= {"metrics": tuple(self.metrics), "sets": tuple(self.sets)}
        if phase == "tune":
            given |= {"sets": ("validation",), "keep_embeddings": False, "keep_start_embeddings": False}
        return EvaluationSpec(**given)


class PublishedSection(StudySection):
    """Which published rows are shown beside which cells."""

    paper: Name
    table: str
    labels: str
    method: str
    dataset: str
    match: dict[str, Any] = {}  # attributes of the cells: loss, positives, negatives, rate, ...
    set: EvaluationSet = "test"
    level: Level = "fine"
