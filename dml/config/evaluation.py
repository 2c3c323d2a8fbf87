"""The sections `evaluation` and `reference_values`."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

import dml
from dml.config.terms import SECTION, Level, StudySection, check_metrics, checked_parts
from dml.types import EvaluationSet, EvaluationSettings, EvaluationSpec, Name


@dataclass(frozen=True, config=SECTION)
class EvaluationSection(EvaluationSettings):
    """What is measured, on clean labels."""

    @checked_parts(lambda own: check_metrics(own.metrics))
    def _check(self) -> EvaluationSection:
        for name in self.metrics:
            dml.evaluation.check_metric(name)
        for key in ("metrics", "sets"):
            if len(set(values := getattr(self, key))) < len(values):
                raise ValueError(f"{key}: {list(values)} contains a value twice")
        return self

    def spec(self, phase: str) -> EvaluationSpec:
        """The record that a trial takes: a tuning trial is measured on validation classes only."""
        given = dict(vars(self))
        if phase == "tune":
            given |= {"sets": ("validation",), "keep_embeddings": False, "keep_start_embeddings": False}
        return EvaluationSpec(**given)


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
