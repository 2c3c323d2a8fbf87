"""The section `audit`: how the labels of one of the study's datasets are audited."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from dml.config.terms import Seed, StudySection
from dml.config.training import TrainingSection
from dml.types import Name


class AuditSection(StudySection):
    """Which labels are audited, from which representations of the images, and how many a person looks at."""

    dataset: str = Field("", description="of the study; none: its only one")
    pixels: int | None = Field(32, ge=4, description="side to which images are reduced; none: no pixels")
    backbone: Name | None = Field(None, description="whose features are one more representation")
    backbone_settings: dict[str, Any] = Field({}, description="as in `training`")
    trained: bool | dict[str, Any] = Field(
        False,
        description="train the study's network for each fold on the others, as one more representation; a mapping such "
        "as {loss: triplet} chooses the cell whose settings are used; true: the first",
    )
    folds: int = Field(5, ge=2, description="of the cross-validation")
    neighbours: int = Field(30, ge=1, description="that vote on a label")
    review_size: int = Field(200, ge=2, description="images that a person looks at; all, if there are fewer")
    seed: Seed = Field(0, description="of the folds and of the sample to look at")

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
