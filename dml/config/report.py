"""The section `report`: what a study's page shows besides what its results decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from dml.config import matching
from dml.config.errors import LocatedError
from dml.config.terms import Name, Seed, StudySection
from dml.discovery import suggestion

if TYPE_CHECKING:
    from dml.config.study import Study

Names = Annotated[
    list[Name],
    Field(min_length=1),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, Name | list[Name]),
]
EmbeddingFigure = Literal["retrieval", "similarities", "tsne", "spectrum"]
KEPT = {"similarities": ("keep_embeddings", "keep_start_embeddings")}
"""The settings of `evaluation` that a figure needs; the others need `keep_embeddings`."""


class BaseSection(StudySection):
    """With which choice of positives or negatives the others are compared: a name, or a list of them."""

    positives: Names | None = Field(None, description="a name or a list; none: the first of the study")
    negatives: Names | None = Field(None, description="a name or a list; none: the first of the study")


class RuleSection(StudySection):
    """On which other studies the rule of thumb of a study with crossed axes is tested."""

    test: list[Name] = Field(min_length=1, description="names of studies that the rule is not made from")


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
    rule: RuleSection | None = Field(None, description="on which other studies the rule of thumb of this one is tested")
    base: BaseSection = Field(
        default_factory=BaseSection, description="with which choices of positives and negatives the others are compared"
    )


def check(study: Study) -> None:
    """Check the figures, and the names in `report.cells` and `report.base`.

    Raises
    ------
    LocatedError : a figure of embeddings that are not kept; a cell or a policy that the study does not have.
    """
    _check_figures(study)
    if study.report.rule is not None and study.name in study.report.rule.test:
        message = f"expected other studies, got {study.name!r} itself, which the rule is made from"
        raise LocatedError(message, "report", "rule", "test")
    if study.report.cells:
        try:
            matching.check_matching(study.cells(), study.report.cells)
        except ValueError as error:
            raise LocatedError(str(error), "report", "cells") from error
    for axis in ("positives", "negatives"):
        choices = list(dict.fromkeys(name for cell in study.cells() if (name := getattr(cell, axis))))
        for name in getattr(study.report.base, axis) or []:
            if name not in choices:
                message = f"no cell of this study has the {axis} {name!r}{suggestion(name, choices)}"
                raise LocatedError(message, "report", "base", axis)


def _check_figures(study: Study) -> None:
    measured = study.evaluation
    for place, figure in enumerate(study.report.figures):
        for setting in KEPT.get(figure, ("keep_embeddings",)):
            if not getattr(measured, setting):
                message = f"{figure!r} is drawn from kept embeddings: expected evaluation.{setting} true, got false"
                raise LocatedError(message, "report", "figures", place)
        vectors = [dataset.source for dataset in study.datasets if dataset.passes_on is not None]
        if figure == "retrieval" and vectors:
            message = f"'retrieval' shows images, of which source {vectors[0]!r} has none: remove it"
            raise LocatedError(message, "report", "figures", place)
        if figure == "retrieval" and "test" not in measured.sets:
            message = (
                f"'retrieval' shows queries of the test set: expected 'test' in evaluation.sets, got {measured.sets}"
            )
            raise LocatedError(message, "report", "figures", place)
