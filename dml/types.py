"""The frozen records that pass between the rooms of `dml`. Start reading here."""

from __future__ import annotations

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


Space = Uniform | LogUniform | Choice


@dataclass(frozen=True)
class Part:
    """A part by its name (or dotted path), with settings that are fixed and settings that are searched."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Space] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One admissible combination of a study's axes. It has its own search, with the same budget as every other."""

    dataset: str  # the name of the dataset in the study
    noise: str
    rate: float
    loss: Part
    positives: str | None  # None: the loss chooses no tuples
    negatives: str | None
    miner: Part | None = None  # a miner by its dotted path, in place of the two policies

    @property
    def name(self) -> str:
        """A short, readable, unique identity within a study, safe in a file's name."""
        tuples = "all-pairs" if self.positives is None else f"{self.positives}+{self.negatives}"
        if self.miner is not None:
            tuples = self.miner.name.rsplit(".", 1)[-1]
        loss = self.loss.name.rsplit(".", 1)[-1]
        if self.loss.settings:
            loss += "(" + ",".join(f"{k}={v}" for k, v in sorted(self.loss.settings.items())) + ")"
        return f"{self.dataset}|{self.noise}-{self.rate:g}|{loss}|{tuples}"


@dataclass(frozen=True)
class TrialSpec:
    """All that decides one trial's result, as JSON-able values. `sweep` hashes it into the trial's key."""

    phase: str  # "tune" (fit classes -> validation classes) or "confirm" (training classes -> test)
    seed: int
    dataset: Mapping[str, Any]  # name, train_on, evaluate_on, digests of the packed data, split and noise
    noise: Mapping[str, Any]  # model, rate, settings
    loss: Mapping[str, Any]  # name, settings
    miner: Mapping[str, Any] | None  # positives, negatives, settings; or name, settings; None: no tuples
    training: Mapping[str, Any]  # the study's `training` section, searched settings filled in
    evaluation: Mapping[str, Any]  # metrics, sets
    numerics: str  # the version of the code that the trial runs (`dml.training.numerics`)


@dataclass(frozen=True)
class Progress:
    """One evaluation during a trial."""

    step: int
    scores: Mapping[str, float]


@dataclass(frozen=True)
class TrialResult:
    """What a finished trial leaves. `scores` are keyed `<set>/<level>/<metric>`, e.g. `test/fine/recall@1`."""

    scores: Mapping[str, float]
    curve: Sequence[Progress]
    diagnostics: Mapping[str, float]  # active_share, dropped_anchors, images_per_second, ...
    seconds: float
