"""The files that a study names: found missing before anything is downloaded or packed."""

from __future__ import annotations

from pathlib import Path

from dml import models
from dml.config.loading import ConfigError, place_of
from dml.config.study import Study
from dml.types import Cell

BACKBONE = "training.backbone_settings"


def check_files(study: Study, path: Path) -> None:
    """Reject a study whose backbones name files of weights that are missing, or of another kind.

    Studies are valid without their files: the report shows published results on machines that have none.

    Parameters
    ----------
    path : of the study, for messages.

    Raises
    ------
    ConfigError : with file and line.
    """
    for cell in study.cells():
        training = study.training_of(cell)
        try:
            models.with_files(training.backbone, training.backbone_settings)
        except ValueError as error:
            raise ConfigError(f"{place_of(path, *location(study, cell, BACKBONE))}: {error}") from None


def location(study: Study, cell: Cell, setting: str) -> tuple[str | int, ...]:
    """Where a study states a setting, or a section, of a cell: keys and positions of lists."""
    for axis, points in study.axes.items():
        for place, point in enumerate(points):
            own = {key: value for key, value in point.items() if key == setting or key.startswith(f"{setting}.")}
            if own and all(cell.varied.get(key) == value for key, value in own.items()):
                return "vary", axis, place
    return tuple(setting.split("."))
