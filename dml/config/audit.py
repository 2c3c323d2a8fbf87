"""The section `audit`: how the labels of one of the study's datasets are audited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from dml import losses
from dml.config import matching
from dml.config.errors import LocatedError
from dml.config.terms import Name, Seed, StudySection
from dml.config.training import TrainingSection
from dml.discovery import suggestion
from dml.types import Cell

if TYPE_CHECKING:
    from dml.config.study import Study


class AuditSection(StudySection):
    """Which labels are audited, from which representations of the images, and how many a person looks at."""

    dataset: str = Field("", description="of the study; none: its only one")
    pixels: int | None = Field(32, ge=4, description="side to which images are reduced; none: no pixels")
    backbone: Name | None = Field(None, description="whose features are one more representation")
    backbone_settings: dict[str, Any] = Field({}, description="of this backbone")
    trained: bool | dict[str, Any] = Field(
        False,
        description="train the study's network for each fold on the others, as one more representation; a mapping such "
        "as {loss: triplet} chooses the cell whose settings are used; true: the first",
    )
    folds: int = Field(5, ge=2, description="of the cross-validation")
    neighbours: int = Field(30, ge=1, description="that vote on a label")
    looks: int = Field(200, ge=2, description="images that a person looks at; all, if there are fewer")
    seed: Seed = Field(0, description="of the folds and of the sample to look at")

    @model_validator(mode="after")
    def _check(self) -> AuditSection:
        if self.backbone is None and self.backbone_settings:
            raise ValueError("backbone_settings: expected a backbone that they belong to")
        self.training()
        return self

    def training(self) -> TrainingSection | None:
        """The network whose features are used, as the section `training` of a study with frozen features."""
        if self.backbone is None:
            return None
        return TrainingSection(backbone=self.backbone, backbone_settings=self.backbone_settings, frozen=True)

    def cell(self, study: Study) -> Cell:
        """The cell whose settings train the networks of `trained`: the dataset's first one that trains and has its
        attributes.

        Raises
        ------
        ValueError : there is none, or its network has seen labels, or is not trained as a whole.
        """
        dataset = self.chosen(study)
        cells = [cell for cell in study.cells() if cell.dataset == dataset]
        wanted = self.trained if isinstance(self.trained, dict) else {}
        found = matching.check_matching(cells, wanted)
        trained = [cell for cell in found if losses.closed_form_of(cell.loss.name) is None]
        if not trained:
            raise ValueError(f"{found[0].loss.name!r} is a closed form, which trains no network: choose another loss")
        cell = trained[0]
        training = study.training_of(cell)
        if study.dataset(dataset).passes_on is not None:
            raise ValueError(
                f"dataset {dataset!r} has vectors and no images, so there is no network to train: remove it"
            )
        if training.frozen:
            raise ValueError(
                f"the cell {cell.name} trains only a head on frozen features, which are a representation already: "
                "remove it, or choose a cell without training.frozen"
            )
        if training.train_from is not None:
            raise ValueError(
                f"the cell {cell.name} trains only the blocks from {training.train_from!r} on, and no whole network: "
                "choose a cell without training.train_from"
            )
        if training.start is not None:
            raise ValueError(
                "training.start gives weights that may come from the audited labels, so no label would be held out: "
                "remove it, or give weights to the backbone (backbone_settings)"
            )
        return cell

    def chosen(self, study: Study) -> str:
        """The name of the audited dataset.

        Raises
        ------
        ValueError : the study has none of this name, or several and none is named.
        """
        names = [dataset.label for dataset in study.datasets]
        if self.dataset and self.dataset not in names:
            raise ValueError(f"{self.dataset!r} is no dataset of the study{suggestion(self.dataset, names)}")
        if not self.dataset and len(names) > 1:
            raise ValueError(f"the study has several datasets: name one, as in audit: {{dataset: {names[0]}}}")
        return self.dataset or names[0]


def check(study: Study) -> None:
    """Reject a section that names no dataset of the study, or asks for what that dataset does not have.

    Raises
    ------
    LocatedError : the message lists the datasets.
    """
    if study.audit is None:
        return
    try:
        chosen = study.audit.chosen(study)
    except ValueError as error:
        raise LocatedError(str(error), "audit", "dataset") from error
    vectors = study.dataset(chosen).passes_on is not None
    if vectors and study.audit.backbone is not None:
        raise LocatedError(f"dataset {chosen!r} has vectors and no images: remove the backbone", "audit", "backbone")
    if study.audit.trained is not False:
        try:
            study.audit.cell(study)
        except ValueError as error:
            raise LocatedError(str(error), "audit", "trained") from error
    frozen = any(study.training_of(cell).frozen for cell in study.cells() if cell.dataset == chosen)
    others = study.audit.backbone is not None or study.audit.trained is not False or frozen
    if not vectors and study.audit.pixels is None and not others:
        raise LocatedError(
            "pixels: null leaves nothing to audit with: name a backbone, set trained: true, or keep pixels", "audit"
        )
