"""The section `training`: the network and how it is trained. Defaults are those of `dml.types.TrainingSpec`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, ValidationError, model_validator

from dml import discovery, models
from dml.config.start import StartSection
from dml.config.terms import Name, NameOf, SpaceTerm, StudySection, extremes
from dml.data import augment, batches
from dml.types import BatchSpec, Choice, Own, TrainingSpec

WHOLE = ("steps", "embedding_size", "warmup_steps", "head_first_steps", "step_every")
RATES = ("learning_rate", "head_learning_rate", "loss_learning_rate")
REAL = (*RATES, "weight_decay", "step_factor", "clip_norm", "clip_value", "ema", "head_dropout")
NAMED = ("optimizer", "schedule", "batch_norm", "pooling", "head", "head_norm", "head_start")

NONE = Choice(())
OWN_RATE = "loss_learning_rate"
SEARCHABLE = (*REAL, *WHOLE, *NAMED, "head_refit", "normalize")
OTHERWISE = ("batch", "search", "start")  # `spec` does not copy them: the sweep finds the weights of `start`


class BatchSection(StudySection):
    """P classes x M samples a batch, by the observed labels."""

    sampler: Annotated[Name, NameOf("dml.data.batches")] = Field(
        BatchSpec.sampler, description="how classes and samples are drawn"
    )
    classes: int = Field(BatchSpec.classes, ge=1, description="P; losses on single samples may take 1")
    per_class: int = Field(BatchSpec.per_class, ge=1, description="M; losses on single samples may take 1")


class TrainingSection(StudySection):
    """The network and how it is trained."""

    backbone: Annotated[Name, NameOf("dml.models")] = Field(
        TrainingSpec.backbone, description="[backbones](networks.md#backbones) says what each is"
    )
    backbone_settings: dict[str, Any] = Field({}, description="settings of the backbone")
    embedding_size: int = Field(TrainingSpec.embedding_size, ge=1, description="dimensions of an embedding")
    normalize: bool = Field(TrainingSpec.normalize, description="L2-normalise embeddings in loss, miner and evaluation")
    steps: int = Field(TrainingSpec.steps, ge=0, description="0: the untrained network is evaluated")
    batch: BatchSection = Field(default_factory=BatchSection, description="how many classes and samples")
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = Field("adam", description="sgd: with momentum 0.9")
    learning_rate: float = Field(TrainingSpec.learning_rate, gt=0, description="of the backbone")
    head_learning_rate: float | None = Field(
        TrainingSpec.head_learning_rate, gt=0, description="of the embedding head; none: learning_rate"
    )
    weight_decay: float = Field(
        TrainingSpec.weight_decay, ge=0, description="of weights; norms, biases, proxies and beta have none"
    )
    loss_learning_rate: float | None = Field(
        TrainingSpec.loss_learning_rate, gt=0, description="of proxies and beta; none: 10 x learning_rate"
    )
    schedule: Literal["constant", "cosine", "step"] = Field(
        "constant", description="step: the rates are multiplied by `step_factor` every `step_every` steps"
    )
    step_every: int | None = Field(
        TrainingSpec.step_every, ge=1, description="of the schedule `step`; none: a third of the steps"
    )
    step_factor: float = Field(TrainingSpec.step_factor, gt=0, lt=1, description="of the schedule `step`")
    warmup_steps: int = Field(TrainingSpec.warmup_steps, ge=0, description="in which the rates rise linearly")
    head_first_steps: int = Field(
        TrainingSpec.head_first_steps, ge=0, description="in which only the head and the loss's parameters are trained"
    )
    clip_norm: float | None = Field(TrainingSpec.clip_norm, gt=0, description="largest norm of the gradient")
    clip_value: float | None = Field(TrainingSpec.clip_value, gt=0, description="largest entry of the gradient")
    ema: float | None = Field(
        TrainingSpec.ema, gt=0, lt=1, description="decay of an average of the weights, which is evaluated and saved"
    )
    batch_norm: Literal["live", "frozen"] = Field(
        "live", description="frozen: the backbone keeps its statistics and affine parameters"
    )
    pooling: Literal["average", "max", "both", "gem"] | None = Field(
        None, description="of the backbone's last maps; both: average + max; none: the backbone's own"
    )
    augment: Annotated[Name, NameOf("dml.data.augment")] = Field(
        TrainingSpec.augment, description="random augmentation of training images"
    )
    augment_settings: dict[str, Any] = Field(
        {},
        description="`normalization` of pixels is the pretrained backbone's, else ImageNet's, unless it is set here; "
        "`none` leaves them from 0 to 1",
    )
    precision: Literal["float32", "bfloat16"] = Field("float32", description="bfloat16: by autocast")
    channels_last: bool = Field(TrainingSpec.channels_last, description="memory format of images and weights")
    compile: bool = Field(TrainingSpec.compile, description="`torch.compile`")
    workers: int = Field(
        TrainingSpec.workers,
        ge=1,
        validation_alias=AliasChoices("workers", "devices"),  # its name in earlier studies
        description="processes, on one node or several, that share each batch (data-parallel)",
    )
    train_from: str | None = Field(
        TrainingSpec.train_from,
        description="train this block of the backbone and those above, on stored activations of those below",
    )
    views: int | None = Field(
        None,
        ge=1,
        description="with train_from: of each image, the first as in evaluation, the others augmented; none: 4, or 1 "
        "without augmentation",
    )
    keep_checkpoints: list[Literal["last", "best"]] = Field(
        [],
        description="that stay after a trial; best: with the highest first metric on validation classes, so of tuning "
        "trials only",
    )
    search: dict[str, SpaceTerm] = Field(
        {},
        description="a search space for each searched setting: rates, decay, steps, warm-up, schedule, clipping, "
        "average, optimiser, batch norm, pooling, `embedding_size`, settings of the head",
    )
    start: StartSection | None = Field(None, description="initial weights; none: the backbone's own")
    head: Literal["none", "linear", "mlp"] = Field(
        "linear",
        description="mlp: with one hidden layer, as wide as the features; none: the features are the embeddings",
    )
    head_norm: bool = Field(TrainingSpec.head_norm, description="layer norm of the features before the head")
    head_dropout: float = Field(TrainingSpec.head_dropout, ge=0, lt=1, description="of the features before the head")
    head_start: Literal["random", "components", "whitening", "lda"] = Field(
        "random", description="first weights of a linear head, from the features of the training images"
    )
    head_refit: Literal["components", "whitening", "lda"] | None = Field(
        None, description="fit the linear head again at each evaluation, to the features of the trained backbone"
    )
    frozen: bool = Field(TrainingSpec.frozen, description="train only the head, on stored features of the backbone")
    frozen_precision: Literal["float32", "float16"] | None = Field(
        None, description="of what is stored; none: float32 for features, float16 for activations (train_from)"
    )

    @model_validator(mode="after")
    def _check(self) -> TrainingSection:
        backbone = models.find(self.backbone)
        discovery.check_settings(backbone, self.backbone_settings, f"backbone {self.backbone!r}")
        batches.find(self.batch.sampler)
        augment.build(self.augment, **{"channels": 3, **self.augment_settings})
        self._check_head()
        self._check_schedule()
        if self.frozen:
            self._check_frozen()
        elif self.train_from is None and self.frozen_precision is not None:
            raise ValueError("frozen_precision: only stored features have one: set frozen: true, or remove it")
        self._check_train_from()
        for key, space in self.search.items():
            if key not in SEARCHABLE:
                raise ValueError(f"search: {key!r} cannot be searched. Choices: {', '.join(SEARCHABLE)}")
            if isinstance(space, Own):
                if key != OWN_RATE:
                    raise ValueError(f"search: {key}: only {OWN_RATE} can be 'own', the range that each loss states")
                continue
            if key in WHOLE and not isinstance(space, Choice):
                raise ValueError(f"search: {key} is a whole number: expected {{choice: [...]}}")
            if key == "pooling" and (self.frozen or self.train_from):
                raise ValueError("search: pooling: what is stored depends on it. Choices: vary it, or remove it")
            for value in extremes(space):
                own = {name: getattr(self, name) for name in type(self).model_fields}
                try:
                    TrainingSection(**{**own, "search": {}, key: value})
                except ValidationError as error:
                    raise ValueError(f"search: {key}: {error.errors()[0]['msg']}, got {value!r}") from None
        return self

    def _check_head(self) -> None:
        """Reject settings of a head that contradict each other."""
        if self.head == "none":
            for name in ("head_norm", "head_dropout", "head_learning_rate", "head_first_steps"):
                if getattr(self, name) != getattr(TrainingSpec, name):
                    raise ValueError(f"{name}: head: none has no head. Choices: head: linear, or no {name}")
        if self.head_start != "random" and self.start is not None and self.start.head == "keep":
            raise ValueError(f"head_start: {self.head_start!r} replaces the head that start: {{head: keep}} keeps")
        for name, own in (("head_start", self.head_start), ("head_refit", self.head_refit)):
            if own in (None, "random"):
                continue
            if self.head != "linear":
                raise ValueError(f"{name}: {own!r} is a linear map: expected head: linear, got {self.head!r}")
            if self.head_norm:
                raise ValueError(f"{name}: {own!r} is fitted without layer norm: remove head_norm")
        if "components" in (self.head_start, self.head_refit) and {self.head_start, self.head_refit} & {
            "whitening",
            "lda",
        }:
            raise ValueError(
                f"head_refit: {self.head_refit!r} and head_start: {self.head_start!r} need different heads, since "
                "components are of features as they are: expected one kind, or head_start: random"
            )
        if self.head_refit is not None and self.frozen:
            raise ValueError("head_refit: with frozen: true it would replace all that is trained: remove one")

    def _check_schedule(self) -> None:
        """Reject settings of another schedule, and phases that leave no steps."""
        if self.step_every is not None and "step" not in (self.schedule, *extremes(self.search.get("schedule", NONE))):
            raise ValueError(f"step_every: goes with schedule: step, got schedule: {self.schedule}")
        for name in ("warmup_steps", "head_first_steps"):
            value = getattr(self, name)
            if value and value >= self.steps > 0:
                raise ValueError(f"{name}: expected fewer than the {self.steps} steps, got {value}")

    def _check_train_from(self) -> None:
        """Reject an unknown block, and what has no effect on stored activations."""
        if self.train_from is None:
            if self.views is not None:
                raise ValueError("views: only stored activations have them: set train_from: <block>, or remove it")
            return
        reasons = {
            "frozen": ("no frozen", "frozen: true trains only the head, on stored features"),
            "start": ("no start", "activations are computed before trials start: give weights to backbone_settings"),
            "channels_last": ("no channels_last", "stored activations have their own layout"),
            "workers": ("workers: 1", "the blocks above are trained in one process"),
        }
        for name, (expected, reason) in reasons.items():
            if getattr(self, name) != getattr(TrainingSpec, name):
                raise ValueError(f"{name}: with train_from, expected {expected}: {reason}")
        if self.augment == "none" and (self.views or 1) > 1:
            raise ValueError(f"views: with augment: none all {self.views} would be the same: name another, or views: 1")
        try:
            models.check_block(self.backbone, self.backbone_settings, self.train_from)
        except ValueError as error:
            raise ValueError(f"train_from: {error}") from None

    def _check_frozen(self) -> None:
        """Reject what has no effect on stored features."""
        reasons = {
            "augment": "the features of each image are computed once, without random augmentation",
            "start": "features are computed before trials start: give weights to the backbone (backbone_settings)",
            "channels_last": "stored features have no channels of pixels",
            "compile": "only the head is trained",
            "workers": "only the head is trained",
            "batch_norm": "the backbone is not trained",
            "head_first_steps": "only the head is trained",
            "head_learning_rate": "learning_rate is the head's",
        }
        for name, reason in reasons.items():
            if getattr(self, name) != getattr(TrainingSpec, name):
                expected = {"augment": "augment: none", "workers": "workers: 1"}.get(name, f"no {name}")
                raise ValueError(f"{name}: with frozen: true, expected {expected}: {reason}")

    def spec(self, **changes: Any) -> TrainingSpec:
        """The record that a trial takes, with some fields changed."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name not in OTHERWISE}
        given["keep_checkpoints"] = tuple(self.keep_checkpoints)
        below = self.train_from is not None
        given["frozen_precision"] = self.frozen_precision or ("float16" if below else TrainingSpec.frozen_precision)
        given["views"] = self.views or (4 if below and self.augment != "none" else TrainingSpec.views)
        return replace(TrainingSpec(**given, batch=BatchSpec(**self.batch.model_dump())), **changes)
