"""A study's YAML, validated: what is wrong is said with file, line, key, value and choices, before anything runs.

`load_study(path)` gives a frozen `Study`; `study.cells()` gives every admissible combination of its axes. The models
stay here at the boundary: the classes of `dml` take plain keyword arguments.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from dml import discovery
from dml._yaml_errors import explain
from dml.types import Cell, Choice, LogUniform, Part, Space, Uniform


class ConfigError(ValueError):
    """A study that cannot run, said in one message."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


def _space(value: Any) -> Space:
    """`{uniform: [0.05, 0.5]}` -> Uniform(0.05, 0.5)."""
    kinds = ("uniform", "log_uniform", "choice")
    if isinstance(value, Uniform | LogUniform | Choice):
        return value
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in kinds:
        raise ValueError(f"expected one of {', '.join(kinds)} with its values, as in {{uniform: [0.05, 0.5]}}")
    (kind, given), *_ = value.items()
    if not isinstance(given, list) or not given:
        raise ValueError(f"{kind}: expected a list, got {given!r}")
    if kind == "choice":
        return Choice(tuple(given))
    numbers = [v for v in given if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(given) != 2 or len(numbers) != 2 or not numbers[0] < numbers[1]:
        raise ValueError(f"{kind}: expected [low, high] with low < high, got {given!r}")
    if kind == "log_uniform" and numbers[0] <= 0:
        raise ValueError(f"log_uniform: low must be above 0, got {numbers[0]!r}")
    low, high = map(float, numbers)
    return LogUniform(low, high) if kind == "log_uniform" else Uniform(low, high)


SpaceTerm = Annotated[Any, BeforeValidator(_space)]
Name = Annotated[str, Field(min_length=1)]
Level = Literal["fine", "coarse"]


def _as_mapping(key: str):
    """A bare string stands for `{key: string}`."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class DatasetSpec(_Model):
    """Which images, how they are packed, which labels train and which are evaluated."""

    source: Name
    name: str = ""
    options: dict[str, Any] = {}
    resize: int | None = Field(
        None, ge=4, le=4096, description="side of the packed square, in pixels; none: as they come"
    )
    on_corrupt: Literal["error", "skip"] = "error"
    decode: Literal["early", "late"] = Field(
        "early", description="late: decode while training, for data that fill a disk"
    )
    train_on: Level = "fine"
    evaluate_on: list[Level] = Field(["fine"], min_length=1)

    @model_validator(mode="after")
    def _check(self) -> DatasetSpec:
        source = discovery.find("dml.data.sources", self.source)
        discovery.check_settings(source, self.options, f"source {self.source!r}")
        for level in [self.train_on, *self.evaluate_on]:
            if level not in self.levels:
                raise ValueError(f"source {self.source!r} has no {level!r} labels. Choices: {', '.join(self.levels)}")
        if not re.fullmatch(r"[\w.+-]+", self.label):
            raise ValueError(f"name: {self.label!r} names files: expected letters, digits and . _ + - alone")
        return self

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of labels that the source has."""
        return getattr(discovery.find("dml.data.sources", self.source), "levels", ("fine", "coarse"))

    @property
    def label(self) -> str:
        return self.name or self.source.rsplit(".", 1)[-1]


class NoiseSpec(_Model):
    """A noise model and its rates."""

    model: Name = "uniform"
    rates: list[Annotated[float, Field(ge=0, lt=1)]] = Field([0.0], min_length=1)
    settings: dict[str, Any] = {}

    @model_validator(mode="after")
    def _check(self) -> NoiseSpec:
        for rate in self.rates:
            discovery.build("dml.noise", self.model, rate=rate, **self.settings)
        return self


class LossSpec(_Model):
    """A loss, its fixed and its searched settings, and (where it has its own) the policies it is crossed with."""

    name: Name
    settings: dict[str, Any] = {}
    search: dict[str, SpaceTerm] | None = Field(None, description="none: the loss's own search space")
    positives: list[Name] | None = None
    negatives: list[Name] | None = None
    _uses_tuples: bool = PrivateAttr(True)

    @property
    def uses_tuples(self) -> bool:
        """Whether the loss, with these settings, is over the tuples that a miner chooses."""
        return self._uses_tuples

    @model_validator(mode="after")
    def _check(self) -> LossSpec:
        part = discovery.find("dml.losses", self.name)
        label = f"loss {self.name!r}"
        discovery.check_settings(part, {**self.settings, **(self.search or {})}, label)
        fill = {"num_classes": 2, "embedding_size": 2}
        known = discovery.settings_of(part)
        both = set(self.settings) & set(self.search or {})
        if both:
            raise ValueError(f"{label}: {', '.join(sorted(both))} is fixed in settings and searched: take one out")
        sample = {k: v for k, v in fill.items() if k in known and k not in self.settings}
        sample |= {key: _ends(space)[0] for key, space in (self.search or {}).items()}
        trials = [{}, *({key: value} for key, space in (self.search or {}).items() for value in _ends(space))]
        for trial in reversed(trials):
            try:
                loss = part(**{**sample, **self.settings, **trial})
            except (TypeError, ValueError) as error:
                raise ValueError(f"{label}: {error}") from error
        self._uses_tuples = getattr(loss, "uses_tuples", True)
        if not self._uses_tuples and (self.positives or self.negatives):
            raise ValueError(
                f"{label} ignores tuples, so it cannot be paired with positives or negatives; take them out"
            )
        return self

    def part(self) -> Part:
        """The loss as the other rooms see it: its own search space where the study gives none."""
        found = discovery.find("dml.losses", self.name)
        own = self.search if self.search is not None else dict(getattr(found, "search_space", {}))
        return Part(self.name, dict(self.settings), {k: v for k, v in own.items() if k not in self.settings})


class MinerSpec(_Model):
    """Settings shared by all pairs of policies, or one miner of another package by its dotted path."""

    name: str | None = None
    settings: dict[str, Any] = {}
    search: dict[str, SpaceTerm] = {}

    @model_validator(mode="after")
    def _check(self) -> MinerSpec:
        given = {**self.settings, **self.search}
        if self.name is not None:
            discovery.check_settings(discovery.find("dml.miners", self.name), given, f"miner {self.name!r}")
            return self
        own = discovery.settings_of(discovery.find("dml.miners", "dml.miners.mine.PolicyMiner"))
        known = set(own) - {"positives", "negatives"}
        for package in ("dml.miners.positives", "dml.miners.negatives"):
            for policy in discovery.names(package):
                known |= set(discovery.settings_of(discovery.find(package, policy)))
        for key in given:
            if key not in known:
                raise ValueError(f"unknown setting {key!r}{discovery.suggestion(key, sorted(known))}")
        return self


class SearchSpec(_Model):
    """How each cell's settings are found, with the same number of trials for every cell."""

    sampler: Literal["tpe", "random", "grid", "fixed"] = "tpe"
    trials: int = Field(8, ge=1, description="trials a cell; `fixed` runs none and confirms the defaults")
    objective: Name = "recall@1"
    level: Level | None = Field(None, description="label level of the objective; none: the first evaluated")
    pruner: Literal["none", "median", "halving"] = "none"
    seed: int = 0

    @model_validator(mode="after")
    def _check(self) -> SearchSpec:
        discovery.check_metric(self.objective)
        return self


class BatchSpec(_Model):
    """P classes x M samples a batch, by the observed labels."""

    sampler: Name = "balanced"
    classes: int = Field(16, ge=1)
    per_class: int = Field(4, ge=1)


class TrainingSpec(_Model):
    """The network and how it is trained."""

    backbone: Name = "small_conv"
    backbone_settings: dict[str, Any] = {}
    embedding_size: int = Field(64, ge=1)
    normalize: bool = Field(True, description="L2-normalise embeddings in loss, miner and evaluation")
    steps: int = Field(500, ge=1)
    batch: BatchSpec = Field(default_factory=BatchSpec)
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = "adam"
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    loss_learning_rate: float | None = Field(None, gt=0, description="for proxies and beta; none: 10 x learning_rate")
    schedule: Literal["constant", "cosine"] = "constant"
    augment: Name = "none"
    augment_settings: dict[str, Any] = {}
    precision: Literal["float32", "bfloat16"] = "float32"
    channels_last: bool = False
    compile: bool = False
    devices: int = Field(1, ge=1, description="processes that share one batch (data-parallel)")
    keep_checkpoints: list[Literal["last", "best"]] = Field(
        [], description="of trials that ended; best: of tuning ones"
    )
    search: dict[str, SpaceTerm] = {}

    @model_validator(mode="after")
    def _check(self) -> TrainingSpec:
        backbone = discovery.find("dml.models", self.backbone)
        discovery.check_settings(backbone, self.backbone_settings, f"backbone {self.backbone!r}")
        discovery.find("dml.data.batches", self.batch.sampler)
        discovery.build("dml.data.augment", self.augment, **{"channels": 3, **self.augment_settings})
        for key, space in self.search.items():
            if key not in ("learning_rate", "weight_decay", "loss_learning_rate", "steps", "embedding_size"):
                raise ValueError(
                    f"search: {key!r} cannot be searched. Choices: learning_rate, weight_decay, "
                    "loss_learning_rate, steps, embedding_size"
                )
            if key in ("steps", "embedding_size") and not isinstance(space, Choice):
                raise ValueError(f"search: {key} is a whole number: expected {{choice: [...]}}")
            for value in _ends(space):
                try:
                    TrainingSpec(**{key: value})
                except ValidationError as error:
                    raise ValueError(f"search: {key}: {error.errors()[0]['msg']}, got {value!r}") from None
        return self


class EvaluationSpec(_Model):
    """What is measured, on clean labels."""

    metrics: list[Name] = Field(["recall@1", "map@r", "nmi"], min_length=1)
    every: int | None = Field(None, ge=1, description="steps between two evaluations; none: at the end only")
    sets: list[Literal["test", "seen"]] = Field(["test"], min_length=1)
    keep_embeddings: bool = False
    over_clustering: int = Field(10, ge=1, description="clusters per class for nmi+")
    nmi_average: Literal["arithmetic", "geometric"] = "arithmetic"

    @model_validator(mode="after")
    def _check(self) -> EvaluationSpec:
        for name in self.metrics:
            discovery.check_metric(name)
        return self


class ResourcesSpec(_Model):
    """What one trial takes, and where the cluster is."""

    cpus_per_trial: float = Field(1, gt=0)
    gpus_per_trial: float = Field(0, ge=0)
    concurrent: int | None = Field(None, ge=1, description="trials at once; none: as many as fit")
    address: str | None = Field(None, description="a Ray cluster; none: RAY_ADDRESS, or this machine")
    storage: str | None = Field(None, description="a URI that all nodes see; none: a local folder")
    max_failures: int = Field(3, ge=0, description="times a trial is resumed after its worker died")


class PublishedSpec(_Model):
    """Which published rows stand beside which cells."""

    paper: Name
    table: str
    labels: str
    method: str
    dataset: str
    match: dict[str, Any] = {}  # attributes of the cells: loss, positives, negatives, rate, ...
    set: Literal["test", "seen"] = "test"
    level: Level = "fine"


class Study(_Model):
    """Everything a study says. Each admissible combination of its axes is a cell."""

    title: str
    description: str = ""
    datasets: list[Annotated[DatasetSpec, _as_mapping("source")]] = Field(min_length=1)
    noise: list[Annotated[NoiseSpec, _as_mapping("model")]] = Field(default_factory=lambda: [NoiseSpec()], min_length=1)
    losses: list[Annotated[LossSpec, _as_mapping("name")]] = Field(min_length=1)
    positives: list[Name] = []
    negatives: list[Name] = []
    miner: MinerSpec = Field(default_factory=MinerSpec)
    seeds: list[int] = Field([0], min_length=1)
    search: SearchSpec = Field(default_factory=SearchSpec)
    training: TrainingSpec = Field(default_factory=TrainingSpec)
    evaluation: EvaluationSpec = Field(default_factory=EvaluationSpec)
    resources: ResourcesSpec = Field(default_factory=ResourcesSpec)
    published: list[PublishedSpec] = []
    name: str = Field("", exclude=True)  # the file's stem

    @model_validator(mode="after")
    def _check(self) -> Study:
        for axis, package in (("positives", "dml.miners.positives"), ("negatives", "dml.miners.negatives")):
            own = [name for loss in self.losses for name in getattr(loss, axis) or []]
            for name in [*getattr(self, axis), *own]:
                discovery.find(package, name)
        if bool(self.positives) != bool(self.negatives):
            raise ValueError("positives and negatives go together: give both or neither")
        if (self.positives or self.miner.name) and not any(loss.uses_tuples for loss in self.losses):
            ignoring = ", ".join(loss.name for loss in self.losses)
            raise ValueError(f"no loss of this study uses tuples ({ignoring}): take out positives, negatives and miner")
        if self.training.batch.per_class == 1 and any(c.positives or c.miner for c in self._all_cells()):
            raise ValueError("training.batch.per_class is 1: with one sample a class there is no positive to choose")
        for axis in ("seeds", "positives", "negatives"):
            values = getattr(self, axis)
            if len(set(values)) < len(values):
                raise ValueError(f"{axis}: {values} names one twice")
        pairs = [(noise.model, rate) for noise in self.noise for rate in noise.rates]
        for pair in pairs:
            if pairs.count(pair) > 1:
                raise ValueError(f"noise: {pair[0]!r} stands twice with the rate {pair[1]:g}")
        first: dict[str, Cell] = {}
        for cell in self._all_cells():
            if first.setdefault(cell.name, cell) != cell:
                raise ValueError(
                    f"losses: two of them would both be the cell {cell.name!r}: tell them apart by settings"
                )
        if self.search.objective not in self.evaluation.metrics:
            there = ", ".join(self.evaluation.metrics)
            raise ValueError(
                f"search.objective is {self.search.objective!r}, which evaluation.metrics leaves out: {there}"
            )
        if self.search.pruner != "none" and self.evaluation.every is None:
            raise ValueError(
                f"search.pruner is {self.search.pruner!r}, but trials are evaluated at their end alone: expected a "
                "number of steps in evaluation.every"
            )
        images, devices = self.training.batch.classes * self.training.batch.per_class, self.training.devices
        if images % devices:
            raise ValueError(
                f"training.devices: a batch of {images} images cannot be shared equally by {devices} devices"
            )
        if 0 < self.resources.gpus_per_trial < devices:
            raise ValueError(
                f"training.devices is {devices}, one GPU each: expected resources.gpus_per_trial {devices} (or 0, for "
                f"processes on CPUs), got {self.resources.gpus_per_trial:g}"
            )
        labels = [dataset.label for dataset in self.datasets]
        if len(set(labels)) < len(labels):
            raise ValueError(f"datasets: two are called the same ({', '.join(labels)}): give them a name each")
        level, sampler = self.search.level, self.training.batch.sampler
        for dataset in self.datasets:
            if _needs_coarse(sampler) and "coarse" not in dataset.levels:
                others = [name for name in discovery.names("dml.data.batches") if not _needs_coarse(name)]
                raise ValueError(
                    f"training.batch.sampler is {sampler!r}, which needs 'coarse' labels; source "
                    f"{dataset.source!r} has only {', '.join(dataset.levels)}. Choices: {', '.join(others)}"
                )
            if level is not None and level not in dataset.evaluate_on:
                raise ValueError(f"search.level is {level!r}, which datasets.{dataset.label}.evaluate_on leaves out")
        return self

    def _policies(self, loss: LossSpec) -> list[tuple[str | None, str | None]]:
        positives, negatives = loss.positives or self.positives, loss.negatives or self.negatives
        if not loss.uses_tuples or not positives:
            return [(None, None)]
        return list(itertools.product(positives, negatives))

    def _all_cells(self) -> Iterator[Cell]:
        foreign = Part(self.miner.name, dict(self.miner.settings), dict(self.miner.search)) if self.miner.name else None
        for dataset, noise, loss in itertools.product(self.datasets, self.noise, self.losses):
            for rate, (positive, negative) in itertools.product(noise.rates, self._policies(loss)):
                miner = foreign if loss.uses_tuples else None
                if miner is not None:
                    positive = negative = None
                yield Cell(dataset.label, noise.model, rate, loss.part(), positive, negative, miner)

    def cells(self) -> list[Cell]:
        """Every admissible combination of dataset, noise, loss and policies, in the study's order, none twice."""
        return list({cell.name: cell for cell in self._all_cells()}.values())

    def dataset(self, name: str) -> DatasetSpec:
        """The dataset of this name."""
        return next(d for d in self.datasets if d.label == name)


def load_study(path: Path | str) -> Study:
    """Read and check a study.

    Raises
    ------
    ConfigError : with one line per problem: `file:line: key: what was expected, what came, what can be chosen`.
    """
    path = Path(path)
    if not path.is_file():
        there = sorted(p.stem for p in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        raise ConfigError(f"{path}: there is no such study{discovery.suggestion(path.stem, there)}")
    text = path.read_text(encoding="utf-8")
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of settings, got {type(content).__name__}")
    try:
        return Study(**{**content, "name": path.stem})
    except ValidationError as error:
        raise ConfigError(explain(path, text, Study, error)) from None


def _needs_coarse(sampler: str) -> bool:
    """Whether batches cannot be made without coarse labels."""
    coarse = discovery.settings_of(discovery.find("dml.data.batches", sampler)).get("coarse")
    return coarse is not None and coarse.default is coarse.empty


def _ends(space: Space) -> tuple[Any, ...]:
    """The values between which all others lie, or all of them."""
    return space.options if isinstance(space, Choice) else (space.low, space.high)
