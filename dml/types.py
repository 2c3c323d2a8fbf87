"""The frozen records that pass between the rooms of `dml`. Start reading here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field, WithJsonSchema

if TYPE_CHECKING:
    from torch import Tensor

Name = Annotated[str, Field(min_length=1)]
EvaluationSet = Literal["test", "seen", "train"]
Views = Literal["one", "mirror"]
VALIDATION = "validation"
"""The set on which tuning trials are scored: classes that they do not fit."""
TUNING_SEED = 0
"""Of a search, and of its trials."""


def setting(description: str, **limits: Any) -> Any:
    """What a study may set here: `dml.config` checks it, and docs/settings.md and the JSON Schema say it."""
    return Field(description=description, **limits)


def part_of(package: str) -> WithJsonSchema:
    """In the JSON Schema, the name of a part of a package, or a dotted path; `dml.config.schema` lists the names."""
    return WithJsonSchema({"parts": package})


class ScoreKey(NamedTuple):
    """What a score measures, spelt `<set>/<level>/<metric>`: `test/fine/recall@1`, a column of a table of trials."""

    set: str  # of images: one of `EvaluationSet`, or `VALIDATION`
    level: str  # of labels: "fine", "coarse", "given"
    metric: str  # `recall@1`

    @classmethod
    def parse(cls, text: str) -> ScoreKey:
        """The key with this spelling. Raises ValueError if it has not three parts."""
        parts = text.split("/", 2)
        if len(parts) < 3:
            raise ValueError(f"expected <set>/<level>/<metric>, got {text!r}")
        return cls(*parts)

    @staticmethod
    def is_spelt(text: str) -> bool:
        """Whether a text, such as the name of a column, is the spelling of a key."""
        return text.count("/") >= 2

    def __str__(self) -> str:
        return "/".join(self)

    @property
    def group(self) -> str:
        """What the score is of, without its metric: `test/fine`."""
        return f"{self.set}/{self.level}"

    @property
    def stem(self) -> str:
        """The metric without what follows `@`: `recall`."""
        return self.metric.partition("@")[0]

    @property
    def number(self) -> int | None:
        """The number after `@` in the metric, of neighbours or clusters: 1 of `recall@1`; None of `nmi` and `map@r`."""
        number = self.metric.partition("@")[2]
        return int(number) if number.isdecimal() else None


class Tuples(NamedTuple):
    """Triples of positions in a batch; pytorch-metric-learning takes it as `indices_tuple`.

    A *padded* Tuples has a fixed length and -1 in all three places of a row that holds no triple: no
    host-device synchronisation is needed to make it, and every loss of `dml` skips such rows.
    """

    anchors: Tensor  # int64 (T,)
    positives: Tensor  # int64 (T,)
    negatives: Tensor  # int64 (T,)


class Pairs(NamedTuple):
    """The pairs a miner keeps, unmaterialised: what a loss over pairs needs when triples would be too many."""

    positives: Tensor  # bool (N, N): row anchor, column positive; never the diagonal
    negatives: Tensor  # bool (N, N): row anchor, column negative


class NoisyLabels(NamedTuple):
    """Labels as observed, and which of them are wrong."""

    observed: np.ndarray  # int64 (n,); -1 marks a sample that is left out (only `subset` leaves any out)
    flipped: np.ndarray  # bool (n,)


@dataclass(frozen=True)
class Uniform:
    """A real number between `low` and `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True)
class LogUniform:
    """A positive real number, uniform in its logarithm, between `low` and `high`."""

    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """One of `options`, each a JSON scalar."""

    options: tuple[Any, ...]


@dataclass(frozen=True)
class StatedSpace:
    """The space that a part states itself, where a study asks for it (`own`)."""


Space = Uniform | LogUniform | Choice


@dataclass(frozen=True)
class Part:
    """A part by its name (or dotted path), with settings that are fixed and settings that are searched."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Space] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The name without its path, and the fixed settings: `triplet(margin=0.1)`."""
        settings = ",".join(f"{key}={value}" for key, value in sorted(self.settings.items()))
        return self.name.rsplit(".", 1)[-1] + (f"({settings})" if settings else "")


def value_text(value: Any) -> str:
    """A setting's value in the name of a cell: `0.2`, `name:resnet18`, `a+b`; safe in a file's name."""
    if isinstance(value, Mapping):
        return "+".join(f"{key}:{value_text(inner)}" for key, inner in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "+".join(map(value_text, value))
    return str(value).replace("/", "_").replace("|", "_")


def noise_model(label: str) -> str:
    """The noise model of a noise as a study calls it: `label_file` of `label_file:reviewed`."""
    return label.partition(":")[0]


def observed_levels(train_on: str) -> tuple[str, ...]:
    """The levels at which the labels of validation images are those that training would see."""
    return (train_on, "given") if train_on == "fine" else (train_on,)


class NoiseLevel(NamedTuple):
    """A noise as a study calls it, and its rate: cells at one level are trained on the same labels."""

    noise: str
    rate: float

    def __str__(self) -> str:
        return f"{self.noise}-{self.rate:g}"


@dataclass(frozen=True)
class Cell:
    """One admissible combination of a study's axes. It has its own search, with the same budget as every other."""

    dataset: str  # the name of the dataset in the study
    noise: str  # the model, or `model:name` if the study names it
    rate: float
    loss: Part
    positives: str | None  # None: the loss chooses no tuples
    negatives: str | None
    miner: Part | None = None  # a miner by its dotted path, in place of the two policies
    grid_point: Mapping[str, Any] = field(default_factory=dict)  # settings of a study's `grid`, by their dotted names
    filter: Part | None = None  # None: every sample takes part

    @property
    def noise_level(self) -> NoiseLevel:
        """The noise and its rate."""
        return NoiseLevel(self.noise, self.rate)

    @property
    def further(self) -> dict[str, Any]:
        """What tells the cell apart beside its data, loss and tuples: what varies, and a filter."""
        return {**self.grid_point, **({} if self.filter is None else {"filter": self.filter.text})}

    @property
    def columns(self) -> dict[str, Any]:
        """What a table of trials says about their cell; what varies as JSON, and a filter only if there is one."""
        columns = {
            "dataset": self.dataset,
            "noise": self.noise,
            "rate": self.rate,
            "loss": self.loss.name,
            "positives": self.positives,
            "negatives": self.negatives,
            "varied": json.dumps(self.grid_point),
        }
        return columns | ({} if self.filter is None else {"filter": self.filter.text})

    @property
    def tuples(self) -> str:
        """How tuples are chosen: `easy+semihard_random`, `all-pairs`, or a miner's name without its path."""
        if self.miner is not None:
            return self.miner.name.rsplit(".", 1)[-1]
        return "all-pairs" if self.positives is None else f"{self.positives}+{self.negatives}"

    @property
    def name(self) -> str:
        """A short, readable, unique identity within a study, safe in a file's name."""
        further = ",".join(f"{key}={value_text(value)}" for key, value in self.further.items())
        name = f"{self.dataset}|{self.noise_level}|{self.loss.text}|{self.tuples}"
        return name + (f"|{further}" if further else "")


@dataclass(frozen=True)
class DatasetSpec:
    """The data of one trial."""

    name: str  # in the study; not part of a trial's key
    packed: str  # digests: of the packed images,
    split: str  # of the role of each image,
    labels: str  # and of the observed training labels
    train_on: str = "fine"
    evaluate_on: tuple[str, ...] = ("fine",)


@dataclass(frozen=True)
class Resize:
    """How an image becomes a square: as the weights of a network expect, or as a study sets it."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    side: Annotated[int, setting("of the square, in pixels", ge=4, le=4096)]
    interpolation: Annotated[Literal["bilinear", "bicubic"], setting("how pixels are resized, with antialiasing")] = (
        "bilinear"
    )
    crop: Annotated[
        float | None,
        setting(
            "side of the central square that is kept, as a share of the shorter side; none: all, squashed", gt=0, le=1
        ),
    ] = None


@dataclass(frozen=True)
class NoiseSpec:
    """The label noise of one trial."""

    model: str  # or `model:name` if the study names it; the name is not part of a trial's key
    rate: float
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LossSpec:
    """A loss by its name (or dotted path), and its settings, the searched ones filled in."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MinerSpec:
    """Two policies with their settings, or a foreign miner by its dotted path."""

    positives: str = ""
    negatives: str = ""
    name: str = ""  # a dotted path; then there are no policies
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FilterSpec:
    """A filter by its name (or dotted path), and its settings, the searched ones and the noise rate filled in."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchSpec:
    """P classes x M samples a batch, by the observed labels."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    sampler: Annotated[Name, part_of("dml.data.batches"), setting("how classes and samples are drawn")] = "balanced"
    classes: Annotated[int, setting("P; losses on single samples may take 1", ge=1)] = 16
    per_class: Annotated[int, setting("M; losses on single samples may take 1", ge=1)] = 4

    @property
    def size(self) -> int:
        """Images in a batch."""
        return self.classes * self.per_class


@dataclass(frozen=True)
class InitFromSpec:
    """The network's initial weights."""

    weights: str  # SHA-256 of the file
    path: str  # of the file; not part of a trial's key
    head: str | None = None  # "new": without the embedding layer; None: with it if its size fits


@dataclass(frozen=True)
class TrainingSettings:
    """The network and how it is trained, as a study sets it and a trial takes it."""

    backbone: Annotated[
        Name, part_of("dml.models"), setting("[backbones](networks.md#backbones) says what each is")
    ] = "small_conv"
    backbone_settings: Annotated[Mapping[str, Any], setting("as listed there")] = field(default_factory=dict)
    embedding_size: Annotated[int, setting("dimensions of an embedding", ge=1)] = 64
    normalize: Annotated[bool, setting("L2-normalise embeddings in loss, miner and evaluation")] = True
    steps: Annotated[int, setting("0: the untrained network is evaluated", ge=0)] = 500
    batch: Annotated[BatchSpec, setting("how many classes and samples")] = field(default_factory=BatchSpec)
    optimizer: Annotated[Literal["adam", "adamw", "sgd", "rmsprop"], setting("sgd: with momentum 0.9")] = "adam"
    learning_rate: Annotated[float, setting("of the backbone", gt=0)] = 1e-3
    head_learning_rate: Annotated[float | None, setting("of the embedding head; none: learning_rate", gt=0)] = None
    layer_decay: Annotated[
        float | None, setting("the rate of each lower numbered block of the backbone is multiplied by this", gt=0, le=1)
    ] = None
    weight_decay: Annotated[float, setting("of weights; norms, biases, proxies and beta have none", ge=0)] = 0.0
    loss_learning_rate: Annotated[float | None, setting("of proxies and beta; none: 10 x learning_rate", gt=0)] = None
    schedule: Annotated[Literal["constant", "cosine"], setting("of the rates, over all steps")] = "constant"
    warmup_steps: Annotated[int, setting("in which the rates rise linearly", ge=0)] = 0
    clip_norm: Annotated[float | None, setting("largest norm of the gradient", gt=0)] = None
    clip_value: Annotated[float | None, setting("largest entry of the gradient", gt=0)] = None
    batch_norm: Annotated[
        Literal["live", "frozen"], setting("frozen: the backbone keeps its statistics and affine parameters")
    ] = "live"
    augment: Annotated[Name, part_of("dml.data.augment"), setting("random augmentation of training images")] = "none"
    augment_settings: Annotated[
        Mapping[str, Any],
        setting(
            "`normalization` of pixels is the pretrained backbone's, else ImageNet's, unless it is set here; `none` "
            "leaves them from 0 to 1"
        ),
    ] = field(default_factory=dict)
    precision: Annotated[Literal["float32", "bfloat16"], setting("bfloat16: by autocast")] = "float32"
    channels_last: Annotated[bool, setting("memory format of images and weights")] = False
    workers: Annotated[
        int, setting("processes, on one node or several, that share each batch (data-parallel)", ge=1)
    ] = 1
    head_start: Annotated[
        Literal["random", "components", "whitening", "lda"],
        setting("first weights of the head, from the features of the training images"),
    ] = "random"
    head_refit: Annotated[
        Literal["components", "whitening", "lda"] | None,
        setting(
            "fit the head again at each evaluation, to the features of the trained backbone and the observed "
            "labels: it is what is evaluated and saved; each time embeds up to 10,000 training images"
        ),
    ] = None
    frozen: Annotated[bool, setting("train only the head, on stored features of the backbone")] = False
    train_from: Annotated[
        str | None, setting("train this block of the backbone and those above, on stored activations of those below")
    ] = None


@dataclass(frozen=True)
class TrainingSpec(TrainingSettings):
    """The network of one trial and how it is trained."""

    layers: bool = False  # the features are those of several layers (`dml.models.Layers`)
    views: int = 1  # of each image of which activations are stored
    mirrored: bool = False  # features or activations are of the images' mirror images, which no trial trains on
    frozen_precision: str = "float32"  # of the stored features or activations
    init_from: InitFromSpec | None = None  # None: random weights, or the backbone's pretrained ones
    device: str = "cpu"  # "cpu" or "cuda"
    stop_at: int | None = None  # the step after which training ends; the schedule is that of all `steps`

    @property
    def total_steps(self) -> int:
        """The steps that a trial trains."""
        return self.steps if self.stop_at is None else self.stop_at

    @property
    def stored(self) -> bool:
        """Whether the trial's input is stored features or activations in place of images."""
        return self.frozen or self.train_from is not None


@dataclass(frozen=True)
class EvaluationSettings:
    """What is measured, on clean labels, as a study sets it and a trial takes it."""

    metrics: Annotated[
        tuple[Name, ...],
        setting("`recall@K`, `precision@K`, `map@r`, `map`, `nmi`, `nmi+`, `ami`, `f1`, `pair_auc`", min_length=1),
    ] = ("recall@1", "map@r", "nmi")
    every: Annotated[
        int | None,
        setting(
            "steps between evaluations; none: only at the end (with `search.stop: best`, a tenth of the steps)", ge=1
        ),
    ] = None
    sets: Annotated[
        tuple[EvaluationSet, ...],
        setting(
            "`test`: classes never trained on; `seen`: held-out images of training classes; `train`: training images, "
            "by their clean labels; the report compares methods on the first",
            min_length=1,
        ),
    ] = ("test",)
    views: Annotated[
        Views,
        setting(
            "mirror: an embedding is the sum of the unit embeddings of an image and its mirror image, made unit; twice "
            "the time of an evaluation"
        ),
    ] = "one"
    keep_embeddings: Annotated[bool, setting("save the embeddings of confirmed trials, which the report plots")] = False
    over_clustering: Annotated[int, setting("clusters per class for `nmi+`", ge=1)] = 10
    nmi_average: Annotated[
        Literal["arithmetic", "geometric"], setting("mean of the two entropies in NMI; geometric: as in Le & Odobez")
    ] = "arithmetic"


@dataclass(frozen=True)
class EvaluationSpec(EvaluationSettings):
    """What is measured of one trial. The set of a tuning trial is `validation`."""

    at_start: bool = False  # also before the first step


@dataclass(frozen=True)
class TrialSpec:
    """Everything that decides one trial's result. `dml.sweep.plan.keys` derives the trial's key from it."""

    phase: str  # "tune" (fitting classes -> validation classes) or "confirm" (training classes -> test)
    seed: int
    dataset: DatasetSpec
    noise: NoiseSpec
    loss: LossSpec
    miner: MinerSpec | None = None  # None: the loss takes every valid tuple, or none
    training: TrainingSpec = TrainingSpec()
    evaluation: EvaluationSpec = EvaluationSpec()
    protocol: str = "refit"  # or "train_val_test": a confirm trial fits the classes that tuning fits
    filter: FilterSpec | None = None  # None: every sample takes part

    @property
    def data_phase(self) -> str:
        """The phase whose training images and observed labels the trial takes."""
        return "tune" if self.protocol == "train_val_test" else self.phase


@dataclass(frozen=True)
class EvaluationPoint:
    """One evaluation during a trial."""

    step: int
    scores: Mapping[str, float]


@dataclass(frozen=True)
class TrialResult:
    """What a finished trial leaves. `scores` are by the spelling of a `ScoreKey`."""

    scores: Mapping[str, float]
    curve: Sequence[EvaluationPoint]
    diagnostics: Mapping[str, float]  # active_share, dropped_anchors, images_per_second, ...
    seconds: float
    counts: Mapping[str, Sequence[float]] = field(default_factory=dict)  # `eta_drawn`, ...: pairs per bin of distance
