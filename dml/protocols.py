"""One protocol for each kind of part: what a part must provide, and all that other rooms know of it.

A part needs no base class: a class with these members is one. Every part states its `version`, an integer in its own
file that is raised when the numbers it computes change: trials' keys contain it, and golden tests pin it.
`search_space` maps the settings worth tuning to their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from dml.types import EvaluationPoint, NoisyLabels, Pairs, Space, TrialResult, TrialSpec, Tuples


class Part(Protocol):
    """What every part has."""

    version: ClassVar[int]


@runtime_checkable
class Composite(Protocol):
    """A part that runs other parts: their versions enter a trial's key too."""

    @classmethod
    def components(cls, settings: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """The other parts that run with these settings, as (package, name): `("dml.losses", "triplet")`."""
        ...


# Losses


@runtime_checkable
class Loss(Protocol):
    """An `nn.Module`; what it learns (proxies, beta) are its `parameters()`.

    A constructor argument called `num_classes`, `embedding_size` or `normalize` is filled in by a trial
    (`losses.build_for`), unless the study sets it. The properties may be plain attributes.
    """

    version: ClassVar[int]

    @property
    def search_space(self) -> Mapping[str, Space]:
        """The ranges of the settings worth tuning; an attribute of the class, except for losses of other packages."""
        ...

    @property
    def uses_tuples(self) -> bool:
        """False: it ignores what a miner chooses, and a study cannot pair it with one."""
        ...

    @property
    def takes_padding(self) -> bool:
        """It skips rows of -1 in `Tuples`, and takes `Pairs`. Otherwise a miner gives it triples only."""
        ...

    @property
    def stats(self) -> Mapping[str, Tensor]:
        """Of the last call, 0-d tensors to log: `active_share`, ..."""
        ...

    @property
    def mining(self) -> Mapping[str, Any]:
        """Settings that a miner takes over unless the study sets them: margin, distance. Often empty."""
        ...

    def __call__(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | Pairs | None = None) -> Tensor:
        """Embeddings (N, D) float, labels (N,) int -> scalar. `tuples=None`: every valid tuple of the batch."""
        ...

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]: ...


@runtime_checkable
class PerTupleLoss(Protocol):
    """A loss with a value for each tuple, which `trimmed` needs."""

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Any = None) -> tuple[Tensor, Tensor]:
        """Each tuple's loss and how often it counts, (T,) both; differentiable by autograd."""
        ...


# Miners


class Miner(Protocol):
    """Chooses tuples in a batch."""

    stats: Mapping[str, Tensor]  # of the last call, 0-d tensors to log: `tuples`, `dropped_anchors`, ...

    def __call__(self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None) -> Any:
        """Embeddings (N, D), labels (N,) int -> the tuples to train on: `Tuples`, `Pairs` or 4 index tensors."""
        ...


class PositivePolicy(Protocol):
    """Chooses the positives of each anchor. Its batch is a `dml.miners` `MinerBatch`, `draw` gives uniform numbers."""

    version: ClassVar[int]
    search_space: ClassVar[Mapping[str, Space]]

    def __call__(self, batch: Any, draw: Callable[[torch.Size], Tensor]) -> Tensor:
        """-> int64 (N, S): row i holds positions of anchor i's positives, -1 in unused places."""
        ...


class NegativePolicy(Protocol):
    """Chooses the negatives of each anchor, given its positives."""

    version: ClassVar[int]
    search_space: ClassVar[Mapping[str, Space]]

    def __call__(self, batch: Any, positives: Tensor, draw: Callable[[torch.Size], Tensor]) -> Tensor:
        """positives int64 (N, S) -> int64 (N, S), one negative for each positive and -1 where there is none; or
        bool (N, N), the set of each anchor's negatives, which is used with all its positives."""
        ...


# Data


class NoiseModel(Protocol):
    """Turns clean labels into observed ones."""

    version: ClassVar[int]

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """labels int64 (n,) -> what is observed. The same labels and seed give the same result."""
        ...


class Source(Protocol):
    """A dataset's raw files. Constructed with its options; knows nothing of packing."""

    version: ClassVar[int]
    name: ClassVar[str]

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Fetch and verify the raw files below `raw` (the mirror first, then the public source)."""
        ...

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records in a fixed order: `image` (encoded bytes, or uint8 (H, W, C)), `fine`, `coarse`, `path`, ..."""
        ...


class Sampler(Protocol):
    """An endless iterator of batches: int64 (B,) positions into the training labels.

    Its constructor takes `labels` int64 (n,), `classes`, `per_class` and `seed`; if `needs_coarse`, also `coarse`.
    """

    version: ClassVar[int]
    needs_coarse: ClassVar[bool]  # batches cannot be made without coarse labels
    bounded: ClassVar[bool]  # no batch holds more than `per_class` samples of a class

    def __iter__(self) -> Self: ...

    def __next__(self) -> np.ndarray: ...

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch, as plain values."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue after the batch at which `state` was taken."""
        ...


class Augmentation(Protocol):
    """A pipeline over whole batches. Its constructor takes `channels` and `normalization`."""

    version: ClassVar[int]
    image_size: int | None  # side of the result in pixels; None: that of its input

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', h, w). Nothing is random unless `training`."""
        ...


# Models


class Backbone(Protocol):
    """Images to features: an `nn.Module`. Its constructor takes `channels` and `image_size`."""

    version: ClassVar[int]
    packages: ClassVar[Sequence[str]]  # whose versions decide its initial weights beside torch's: `("torchvision",)`
    features: int  # width of the result

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """The channels that it takes where the images have `channels`."""
        ...

    @classmethod
    def statistics(cls, **settings: Any) -> dict[str, list[float]] | None:
        """Mean and std that its pretrained weights expect, for pixels from 0 to 1; None without such weights."""
        ...

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings that build the same network without fetching weights, which are then loaded from a checkpoint."""
        ...

    def __call__(self, images: Tensor) -> Tensor:
        """images (N, C, H, W) float -> (N, features)."""
        ...


# Evaluation


@runtime_checkable
class RetrievalMetric(Protocol):
    """A number per query, from the neighbours that `evaluation.evaluate` found once for all metrics."""

    version: ClassVar[int]

    def depth(self, most: int) -> int | None:
        """Neighbours needed where the query with the most relevant rows has `most`; None: the whole ranking."""
        ...

    def __call__(self, hits: Any) -> np.ndarray:
        """`evaluation.relevance.Hits` of b queries -> float64 (b,)."""
        ...


@runtime_checkable
class ClusteringMetric(Protocol):
    """A number from one k-means clustering, shared by all metrics that ask for as many clusters."""

    version: ClassVar[int]

    def clusters(self, classes: int) -> int:
        """How many clusters."""
        ...

    def __call__(self, table: Any) -> float:
        """`evaluation.clustering.Contingency` -> the score."""
        ...


# Training


class Trainer(Protocol):
    """Runs one trial. It is constructed with (spec, data_root, folder, device) and resumes from the folder's checkpoint.

    An error that is the trial's result, and would come again, is called `TrainingError`.
    """

    @property
    def finished(self) -> bool:
        """Whether all steps are done and evaluated."""
        ...

    def advance(self) -> EvaluationPoint:
        """Train to the next evaluation, evaluate, and save a checkpoint."""
        ...

    def result(self) -> TrialResult:
        """What the finished trial leaves."""
        ...

    def discard_checkpoint(self) -> None:
        """Called once the result is recorded."""
        ...

    def close(self) -> None:
        """Called when the trial leaves its worker, however it ended."""
        ...


TrainerFactory = Callable[[TrialSpec, Path, Path, str], Trainer]
