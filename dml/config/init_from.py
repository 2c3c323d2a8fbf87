"""The section `training.init_from`: the network's initial weights."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from dml.config.terms import StudySection
from dml.discovery import suggestion
from dml.types import Name

ATTRIBUTES = ("dataset", "noise", "rate", "loss", "positives", "negatives")
ROOMS = ("training", "miner", "loss")


class InitFromSection(StudySection):
    """Weights from a file, or those of an earlier study's model."""

    path: Name | None = Field(None, description="a trial's `model` folder, a .safetensors file or a checkpoint (.pt)")
    study: Name | None = Field(None, description="an earlier study, whose models are here")
    cell: dict[str, Any] = Field({}, description="what identifies one cell of that study: its loss, rate, ...")
    best: bool = Field(False, description="the cell of that study with the best validation score, with labels as given")
    head: Literal["keep", "new"] | None = Field(None, description="the embedding layer; none: kept if its size fits")

    @model_validator(mode="after")
    def _check(self) -> InitFromSection:
        if (self.path is None) == (self.study is None):
            raise ValueError("expected either `path` or `study`, as in {study: other, cell: {loss: triplet}}")
        if self.path is not None and (self.cell or self.best):
            raise ValueError("`cell` and `best` choose a model of a study: remove them, or give `study` for `path`")
        if self.study is not None and bool(self.cell) == self.best:
            raise ValueError(
                "with `study`, expected either `cell`, such as {loss: triplet, rate: 0.0}, or `best: true`"
            )
        for key in self.cell:
            if key not in ATTRIBUTES and key.partition(".")[0] not in ROOMS:
                choices = suggestion(key, [*ATTRIBUTES, "a setting such as loss.margin"])
                raise ValueError(f"cell: unknown attribute {key!r}{choices}")
        return self
