"""The section `report`: what a study's page shows besides what its results decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field

from dml.config.errors import LocatedError
from dml.config.terms import Name, StudySection
from dml.discovery import suggestion

if TYPE_CHECKING:
    from dml.config.study import Study

Names = Annotated[
    list[Name], Field(min_length=1), BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]


class BaseSection(StudySection):
    """With which choice of positives or negatives the others are compared: a name, or a list of them."""

    positives: Names | None = None
    negatives: Names | None = None


class ReportSection(StudySection):
    """What a study's page shows."""

    figures: list[str] = []
    base: BaseSection = Field(default_factory=BaseSection, description="none: the first choice of the study")


def check(study: Study) -> None:
    """Check the names in `report.base`.

    Raises
    ------
    LocatedError : a policy that no cell of the study uses.
    """
    for axis in ("positives", "negatives"):
        for name in getattr(study.report.base, axis) or []:
            choices = dict.fromkeys(getattr(cell, axis) for cell in study.cells())
            if name not in choices:
                message = f"no cell of this study has the {axis} {name!r}{suggestion(name, filter(None, choices))}"
                raise LocatedError(message, "report", "base", axis)
