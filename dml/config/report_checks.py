"""Checks that a study has what its section `report` names."""

from __future__ import annotations

from dml.config import matching
from dml.config.errors import LocatedError
from dml.config.study import Study

KEPT = {"similarities": ("keep_embeddings", "keep_start_embeddings")}
"""The settings of `evaluation` that a figure needs; the others need `keep_embeddings`."""


def check(study: Study) -> None:
    """Check the figures, and the names in `report.cells`.

    Raises
    ------
    LocatedError : a figure of embeddings that are not kept; a cell that the study does not have.
    """
    _check_figures(study)
    if study.report.cells:
        try:
            matching.check_matching(study.cells(), study.report.cells)
        except ValueError as error:
            raise LocatedError(str(error), "report", "cells") from error


def _check_figures(study: Study) -> None:
    measured = study.evaluation
    for place, figure in enumerate(study.report.figures):
        for setting in KEPT.get(figure, ("keep_embeddings",)):
            if not getattr(measured, setting):
                message = f"{figure!r} is drawn from kept embeddings: expected evaluation.{setting} true, got false"
                raise LocatedError(message, "report", "figures", place)
        vectors = [dataset.name for dataset in study.datasets if dataset.passes_on is not None]
        if figure == "retrieval" and vectors:
            message = f"'retrieval' shows images, of which source {vectors[0]!r} has none: remove it"
            raise LocatedError(message, "report", "figures", place)
        if figure == "retrieval" and "test" not in measured.sets:
            message = "'retrieval' shows queries of the test set: expected 'test' in evaluation.sets, got "
            message += f"{list(measured.sets)}"
            raise LocatedError(message, "report", "figures", place)
