"""The frozen records that pass between the rooms of `dml`. Start reading here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor


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
class Own:
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
    varied: Mapping[str, Any] = field(default_factory=dict)  # settings of a study's `vary`, by their dotted names
    filter: Part | None = None  # None: every sample takes part

    @property
    def further(self) -> dict[str, Any]:
        """What tells the cell apart beside its data, loss and tuples: what varies, and a filter."""
        return {**self.varied, **({} if self.filter is None else {"filter": self.filter.text})}

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
            "varied": json.dumps(self.varied),
        }
        return columns | ({} if self.filter is None else {"filter": self.filter.text})

    @property
    def name(self) -> str:
        """A short, readable, unique identity within a study, safe in a file's name."""
        tuples = "all-pairs" if self.positives is None else f"{self.positives}+{self.negatives}"
        if self.miner is not None:
            tuples = self.miner.name.rsplit(".", 1)[-1]
        further = ",".join(f"{key}={value_text(value)}" for key, value in self.further.items())
        name = f"{self.dataset}|{self.noise}-{self.rate:g}|{self.loss.text}|{tuples}"
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
    """How batches are composed."""

    sampler: str = "balanced"
    classes: int = 16
    per_class: int = 4

    @property
    def size(self) -> int:
        """Images in a batch."""
        return self.classes * self.per_class


@dataclass(frozen=True)
class StartSpec:
    """The network's initial weights."""

    weights: str  # SHA-256 of the file
    path: str  # of the file; not part of a trial's key
    head: str | None = None  # of the embedding layer: "keep" or "new"; None: it is kept if its size fits


@dataclass(frozen=True)
class TrainingSpec:
    """The network and how it is trained. `dml.config` describes each field."""

    backbone: str = "small_conv"
    backbone_settings: Mapping[str, Any] = field(default_factory=dict)
    embedding_size: int = 64
    normalize: bool = True
    steps: int = 500
    batch: BatchSpec = BatchSpec()
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    loss_learning_rate: float | None = None
    schedule: str = "constant"
    augment: str = "none"
    augment_settings: Mapping[str, Any] = field(default_factory=dict)
    precision: str = "float32"
    channels_last: bool = False
    compile: bool = False
    workers: int = 1  # processes that share each batch
    keep_checkpoints: tuple[str, ...] = ()
    device: str = "cpu"  # "cpu" or "cuda"
    start: StartSpec | None = None  # None: random weights, or the backbone's pretrained ones
    train_from: str | None = None  # this block and those above are trained, on stored activations of those below
    views: int = 1  # of each image of which activations are stored
    head: str = "linear"
    frozen: bool = False  # only the head is trained, on stored features of the backbone
    frozen_precision: str = "float32"  # of the stored features or activations
    head_learning_rate: float | None = None
    step_every: int | None = None
    step_factor: float = 0.5
    warmup_steps: int = 0
    head_first_steps: int = 0
    clip_norm: float | None = None
    clip_value: float | None = None
    ema: float | None = None
    batch_norm: str = "live"
    pooling: str | None = None
    head_norm: bool = False
    head_dropout: float = 0.0
    head_start: str = "random"
    head_refit: str | None = None
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
class EvaluationSpec:
    """What is measured, on clean labels. `dml.config` describes each field."""

    metrics: tuple[str, ...] = ("recall@1", "map@r", "nmi")
    every: int | None = None
    sets: tuple[str, ...] = ("test",)
    keep_embeddings: bool = False
    over_clustering: int = 10
    nmi_average: str = "arithmetic"
    clustering_start: str = "kmeans++"
    keep_start_embeddings: bool = False
    clusters: tuple[int, ...] = ()
    restarts: int = 1
    keep_per_query: bool = False
    at_start: bool = False  # also before the first step
    search: str = "exact"
    candidates: int = 500
    probes: int = 64
    queries: int | None = None
    checked: int = 1000
    memory: str = "4 GB"  # decides no score; not part of a trial's key


@dataclass(frozen=True)
class TrialSpec:
    """Everything that decides one trial's result. `dml.sweep.keys` derives the trial's key from it."""

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
    """What a finished trial leaves. `scores` are keyed `<set>/<level>/<metric>`, e.g. `test/fine/recall@1`."""

    scores: Mapping[str, float]
    curve: Sequence[EvaluationPoint]
    diagnostics: Mapping[str, float]  # active_share, dropped_anchors, images_per_second, ...
    seconds: float
    counts: Mapping[str, Sequence[float]] = field(default_factory=dict)  # `eta_drawn`, ...: pairs per bin of distance
