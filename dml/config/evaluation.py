"""The sections `evaluation` and `reference_values`."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

import dml
from dml.config.terms import SECTION, Level, StudySection, check_metrics, checked_parts
from dml.config.training import TrainingSection
from dml.types import EvaluationSet, EvaluationSettings, EvaluationSpec, Name


@dataclass(frozen=True, config=SECTION)
class EvaluationSection(EvaluationSettings):
    """What is measured, on clean labels."""

    @checked_parts(lambda section: check_metrics(section.metrics))
    def _check(self) -> None:
        for name in self.metrics:
            dml.evaluation.check_metric(name)
        for key in ("metrics", "sets"):
            if len(set(values := getattr(self, key))) < len(values):
                raise ValueError(f"{key}: {list(values)} contains a value twice")

    def spec(self, phase: str) -> EvaluationSpec:
        """The record that a trial takes: a tuning trial is measured on validation classes only."""
        values = dict(vars(self))
        if phase == "tune":
            values |= {"sets": ("validation",), "keep_embeddings": False}
        return EvaluationSpec(**values)


class ReferenceSection(StudySection):
    """Which rows of papers are shown beside which cells."""

    paper: Name = Field(description="of the row: a folder in `papers`, whose `published.csv` has it")
    table: str = Field(description="of the row")
    labels: str = Field(description="of the row")
    method: str = Field(description="of the row")
    dataset: str = Field(description="of the row")
    match: dict[str, Any] = Field({}, description="attributes of the cells; without `rate`, at rate 0")
    set: EvaluationSet = Field("test", description="set of the compared score")
    level: Level = Field("fine", description="level of the compared score")


class AuditSection(StudySection):
    """From which representations of the images labels are audited, and how many a person looks at."""

    backbone: Name | None = Field(None, description="whose features are one more representation")
    backbone_settings: dict[str, Any] = Field({}, description="as in `training`")
    trained: bool | dict[str, Any] = Field(
        False,
        description="train the study's network for each fold on the others, as one more representation; a mapping such "
        "as {loss: triplet} chooses the cell whose settings are used; true: the first",
    )
    review_size: int = Field(200, ge=2, description="images that a person looks at; all, if there are fewer")

    @model_validator(mode="after")
    def _check(self) -> AuditSection:
        if self.backbone is None and self.backbone_settings:
            raise ValueError("backbone: settings without a name: expected a backbone that they belong to")
        self.training()
        return self

    def training(self) -> TrainingSection | None:
        """The network whose features are used, as the section `training` of a study with frozen features."""
        if self.backbone is None:
            return None
        return TrainingSection(backbone=self.backbone, backbone_settings=self.backbone_settings, frozen=True)
