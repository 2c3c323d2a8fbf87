"""The section `training`: the network and how it is trained. Defaults are those of `dml.types.TrainingSpec`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from dml import discovery, models
from dml.config.start import StartSection
from dml.config.terms import Name, SpaceTerm, StudySection, extremes
from dml.data import augment, batches
from dml.types import BatchSpec, Choice, TrainingSpec

SEARCHABLE = ("learning_rate", "weight_decay", "loss_learning_rate", "steps", "embedding_size")
WHOLE = ("steps", "embedding_size")
OTHERWISE = ("batch", "search", "start")  # `spec` does not copy them: the sweep finds the weights of `start`


class BatchSection(StudySection):
    """P classes x M samples a batch, by the observed labels."""

    sampler: Name = BatchSpec.sampler
    classes: int = Field(BatchSpec.classes, ge=1)
    per_class: int = Field(BatchSpec.per_class, ge=1)


class TrainingSection(StudySection):
    """The network and how it is trained."""

    backbone: Name = TrainingSpec.backbone
    backbone_settings: dict[str, Any] = {}
    embedding_size: int = Field(TrainingSpec.embedding_size, ge=1)
    normalize: bool = Field(TrainingSpec.normalize, description="L2-normalise embeddings in loss, miner and evaluation")
    steps: int = Field(TrainingSpec.steps, ge=0, description="0: the untrained network is evaluated")
    batch: BatchSection = Field(default_factory=BatchSection)
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = "adam"
    learning_rate: float = Field(TrainingSpec.learning_rate, gt=0)
    weight_decay: float = Field(TrainingSpec.weight_decay, ge=0)
    loss_learning_rate: float | None = Field(
        TrainingSpec.loss_learning_rate, gt=0, description="of proxies and beta; none: 10 x learning_rate"
    )
    schedule: Literal["constant", "cosine"] = "constant"
    augment: Name = TrainingSpec.augment
    augment_settings: dict[str, Any] = {}
    precision: Literal["float32", "bfloat16"] = "float32"
    channels_last: bool = TrainingSpec.channels_last
    compile: bool = TrainingSpec.compile
    devices: int = Field(TrainingSpec.devices, ge=1, description="processes that share one batch (data-parallel)")
    keep_checkpoints: list[Literal["last", "best"]] = Field(
        [], description="of trials that ended; best: only of tuning trials"
    )
    search: dict[str, SpaceTerm] = {}
    start: StartSection | None = Field(None, description="initial weights; none: the backbone's own")
    head: Literal["linear", "mlp"] = Field("linear", description="mlp: with one hidden layer, as wide as the features")
    frozen: bool = Field(TrainingSpec.frozen, description="train only the head, on stored features of the backbone")
    frozen_precision: Literal["float32", "float16"] = Field("float32", description="of stored features")

    @model_validator(mode="after")
    def _check(self) -> TrainingSection:
        backbone = models.find(self.backbone)
        discovery.check_settings(backbone, self.backbone_settings, f"backbone {self.backbone!r}")
        batches.find(self.batch.sampler)
        augment.build(self.augment, **{"channels": 3, **self.augment_settings})
        if self.frozen:
            self._check_frozen()
        elif self.frozen_precision != TrainingSpec.frozen_precision:
            raise ValueError("frozen_precision: only stored features have one: set frozen: true, or remove it")
        for key, space in self.search.items():
            if key not in SEARCHABLE:
                raise ValueError(f"search: {key!r} cannot be searched. Choices: {', '.join(SEARCHABLE)}")
            if key in WHOLE and not isinstance(space, Choice):
                raise ValueError(f"search: {key} is a whole number: expected {{choice: [...]}}")
            for value in extremes(space):
                try:
                    TrainingSection(**{key: value})
                except ValidationError as error:
                    raise ValueError(f"search: {key}: {error.errors()[0]['msg']}, got {value!r}") from None
        return self

    def _check_frozen(self) -> None:
        """Reject what has no effect on stored features."""
        reasons = {
            "augment": "the features of each image are computed once, without random augmentation",
            "start": "features are computed before trials start: give weights to the backbone (backbone_settings)",
            "channels_last": "stored features have no channels of pixels",
            "compile": "only the head is trained",
            "devices": "only the head is trained",
        }
        for name, reason in reasons.items():
            if getattr(self, name) != getattr(TrainingSpec, name):
                expected = {"augment": "augment: none", "devices": "devices: 1"}.get(name, f"no {name}")
                raise ValueError(f"{name}: with frozen: true, expected {expected}: {reason}")

    def spec(self, **changes: Any) -> TrainingSpec:
        """The record that a trial takes, with some fields changed."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name not in OTHERWISE}
        given["keep_checkpoints"] = tuple(self.keep_checkpoints)
        return replace(TrainingSpec(**given, batch=BatchSpec(**self.batch.model_dump())), **changes)
