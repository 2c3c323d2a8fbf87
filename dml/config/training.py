"""The section `training`: the settings of `dml.types.TrainingSettings`, what is searched of them, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

import dml
from dml import discovery
from dml.config.terms import SECTION, SpaceTerm, StudySection, checked_parts, extremes
from dml.data import augment, batches
from dml.discovery import suggestion
from dml.types import Choice, Name, StatedSpace, TrainingSettings, TrainingSpec, setting

ATTRIBUTES = ("dataset", "noise", "rate", "loss", "positives", "negatives", "filter")
ROOMS = ("training", "miner", "loss")


class InitFromSection(StudySection):
    """Weights from a file, or those of an earlier study's model."""

    path: Name | None = Field(None, description="a trial's `model` folder, a .safetensors file or a checkpoint (.pt)")
    study: Name | None = Field(None, description="an earlier study, whose models are here")
    cell: dict[str, Any] = Field({}, description="what identifies one cell of that study: its loss, rate, ...")

    @model_validator(mode="after")
    def _check(self) -> InitFromSection:
        if (self.path is None) == (self.study is None):
            raise ValueError("expected either `path` or `study`, as in {study: other, cell: {loss: triplet}}")
        if (self.study is None) == bool(self.cell):
            raise ValueError(
                "`study` and `cell` go together: `cell` names one of its cells, as {loss: triplet, rate: 0.0}"
            )
        for key in self.cell:
            if key not in ATTRIBUTES and ("." not in key or key.partition(".")[0] not in ROOMS):
                choices = suggestion(key, [*ATTRIBUTES, "a setting such as loss.margin"])
                raise ValueError(f"cell: unknown attribute {key!r}{choices}")
        return self


WHOLE = ("steps", "embedding_size", "warmup_steps")
RATES = ("learning_rate", "head_learning_rate", "loss_learning_rate")
REAL = (*RATES, "weight_decay", "layer_decay", "clip_norm", "clip_value")
NAMED = ("optimizer", "schedule", "batch_norm", "head_start")

LOSS_RATE = "loss_learning_rate"
SEARCHABLE = (*REAL, *WHOLE, *NAMED, "head_refit", "normalize")


TRAIN_FROM = {
    "frozen": "frozen: true trains only the head, on stored features",
    "init_from": "activations are computed before trials start: give weights to the backbone (its settings)",
    "channels_last": "stored activations have their own layout",
    "workers": "the blocks above are trained in one process",
}
FROZEN = {
    "augment": "the features of each image are computed once, without random augmentation",
    "init_from": "features are computed before trials start: give weights to the backbone (its settings)",
    "channels_last": "stored features have no channels of pixels",
    "workers": "only the head is trained",
    "batch_norm": "the backbone is not trained",
    "layer_decay": "the backbone is not trained",
    "head_learning_rate": "learning_rate is the head's",
}
"""What has no effect on stored activations, and on stored features, and why."""


def _check_names(section: TrainingSettings) -> None:
    named = {"models": section.backbone, "data.batches": section.batch.sampler, "data.augment": section.augment}
    for package, name in named.items():
        discovery.check_name(f"dml.{package}", name)


@dataclass(frozen=True, config=SECTION)
class TrainingSection(TrainingSettings):
    """The network and how it is trained."""

    views: Annotated[
        int | None,
        setting(
            "with train_from: of each image, the first as in evaluation, the others augmented; none: 4, or 1 without "
            "augmentation",
            ge=1,
        ),
    ] = None
    search: Annotated[
        dict[str, SpaceTerm],
        setting(
            "a search space for each searched setting: rates, decay, steps, warm-up, schedule, clipping, optimiser, "
            "batch norm, `embedding_size`, how the head starts"
        ),
    ] = field(default_factory=dict)
    init_from: Annotated[InitFromSection | None, setting("initial weights; none: the backbone's own")] = None

    @checked_parts(_check_names)
    def _check(self) -> None:
        dml.models.check_settings(self.backbone, self.backbone_settings)
        batches.find(self.batch.sampler)
        augment.build(self.augment, **{"channels": 3, **self.augment_settings})
        if self.head_refit is not None and self.frozen:
            raise ValueError("head_refit: with frozen: true it would replace all that is trained: remove one")
        if self.frozen:
            self._check_without("frozen: true", FROZEN)
        self._check_train_from()
        for key, space in self.search.items():
            if key not in SEARCHABLE:
                raise ValueError(f"search: {key!r} cannot be searched. Choices: {', '.join(SEARCHABLE)}")
            if isinstance(space, StatedSpace):
                if key != LOSS_RATE:
                    raise ValueError(f"search: {key}: only {LOSS_RATE} can be 'own', the range that each loss states")
                continue
            if key in WHOLE and not isinstance(space, Choice):
                raise ValueError(f"search: {key} is a whole number: expected {{choice: [...]}}")
            for value in extremes(space):
                try:
                    read = getattr(replace(self, search={}, **{key: value}), key)
                except ValidationError as error:
                    problem = error.errors()[0]["msg"].removeprefix("Value error, ")
                    raise ValueError(f"search: {key}: {problem}, got {value!r}") from None
                if isinstance(value, str) and not isinstance(read, str):  # 1e-3 is text to YAML
                    raise ValueError(f"search: {key}: expected a number, got the text {value!r}: write {read!r}")
        self._check_together()

    def _check_together(self) -> None:
        """Settings of which no trial may have some pairs, searched ones too."""
        ends = {key: extremes(space) for key, space in self.search.items() if not isinstance(space, StatedSpace)}
        most, least = max(ends.get("warmup_steps", [self.warmup_steps])), min(ends.get("steps", [self.steps]))
        if most >= least > 0:
            raise ValueError(f"warmup_steps: expected fewer than the {least} steps, got {most}")
        heads = [set(ends.get(key, [getattr(self, key)])) for key in ("head_start", "head_refit")]
        if any("components" in one and other & {"whitening", "lda"} for one, other in (heads, heads[::-1])):
            raise ValueError(
                "head_start, head_refit: components, which are of features as they are, and whitening or lda need "
                "different heads: expected one kind, also of what is searched, or head_start: random"
            )

    def _check_train_from(self) -> None:
        """Reject an unknown block, and what has no effect on stored activations."""
        if self.train_from is None:
            if self.views is not None:
                raise ValueError("views: only stored activations have them: set train_from: <block>, or remove it")
            return
        self._check_without("train_from", TRAIN_FROM)
        if self.augment == "none" and (self.views or 1) > 1:
            raise ValueError(f"views: with augment: none all {self.views} would be the same: name another, or views: 1")
        try:
            dml.models.check_block(self.backbone, self.backbone_settings, self.train_from)
        except ValueError as error:
            raise ValueError(f"train_from: {error}") from None

    def _check_without(self, what: str, reasons: Mapping[str, str]) -> None:
        """Reject what has no effect on stored features or activations."""
        for name, reason in reasons.items():
            if getattr(self, name) != getattr(TrainingSpec, name):
                expected = {"augment": "augment: none", "workers": "workers: 1"}.get(name, f"no {name}")
                raise ValueError(f"{name}: with {what}, expected {expected}: {reason}")

    def spec(self, **changes: Any) -> TrainingSpec:
        """The record that a trial takes, with some fields changed."""
        values = {field.name: getattr(self, field.name) for field in fields(TrainingSettings)}
        below = self.train_from is not None
        values["frozen_precision"] = "float16" if below else TrainingSpec.frozen_precision
        values["views"] = self.views or (4 if below and self.augment != "none" else TrainingSpec.views)
        return TrainingSpec(**{**values, **changes})
