"""One protocol for each kind of part: what a part must provide, and all that other rooms know of it.

A part needs no base class: a class with these members is one. Every part states its `version`, an integer in its own
file that is raised when the numbers it computes change: trials' keys contain it, and golden tests pin it.
A loss states a `search_space`, which maps the settings worth tuning to their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from dml.types import EvaluationPoint, NoisyLabels, Pairs, Resize, Space, TrialResult, TrialSpec, Tuples

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from torch import Tensor, nn


@runtime_checkable
class Composite(Protocol):
    """A part that runs other parts: their versions and settings enter a trial's key too."""

    @classmethod
    def components(cls, settings: Mapping[str, Any]) -> Mapping[str, tuple[str, str, Mapping[str, Any]]]:
        """The other parts that run with these settings, each by the setting that chooses it.

        A part is (package, name, its own settings): `{"loss": ("dml.losses", "triplet", {"margin": 0.1})}`.
        """


# Losses


@runtime_checkable
class Loss(Protocol):
    """An `nn.Module`; what it learns (proxies, beta) are its `parameters()`.

    A constructor argument called `num_classes`, `embedding_size` or `normalize` is filled in by a trial
    (`losses.build_for`), unless the study sets it. The properties may be plain attributes.

    An optional attribute `left_out` says what a filter has to do with the samples that it leaves out. With tuples that
    do not contain them, the value is that of the batch without them if it is `"skipped"`, and a mean over all samples,
    so it has to be scaled, if it is `"counted"`. Otherwise (`"removed"`, or no attribute) they are removed from the
    batch first, and a GPU's host waits for their number.

    An optional attribute `closed_form` names a projection of `dml.training.closed_form` that the loss stands for. A
    trial then fits its head in closed form and takes no step, and nothing is searched.

    An optional attribute `parameter_rate` is the range, in the terms of `search_space`, of the learning rate of its own
    parameters (`training.loss_learning_rate`). A study that is tuned by default searches it.

    An optional attribute `per_sample = True` says that it compares samples with what it learns, not with each other: a
    batch may then have one class, or one sample of each class.
    """

    version: ClassVar[int]

    @property
    def search_space(self) -> Mapping[str, Space]:
        """The ranges of the settings worth tuning; an attribute of the class, except for losses of other packages."""

    @property
    def uses_tuples(self) -> bool:
        """False: it ignores what a miner chooses, and a study cannot pair it with one."""

    @property
    def takes_padding(self) -> bool:
        """It skips rows of -1 in `Tuples`, and takes `Pairs`. Otherwise a miner gives it triples only."""

    @property
    def stats(self) -> Mapping[str, Tensor]:
        """Of the last call, 0-d tensors to log: `active_share`, ..."""

    @property
    def mining(self) -> Mapping[str, Any]:
        """Settings that a miner takes over unless the study sets them: margin, distance. Often empty."""

    def __call__(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | Pairs | None = None) -> Tensor:
        """Embeddings (N, D) float, labels (N,) int -> scalar. `tuples=None`: every valid tuple of the batch."""

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]: ...

    def to(self, device: torch.device, /) -> Self: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any], /) -> Any: ...


@runtime_checkable
class PerTupleLoss(Protocol):
    """A loss with a value for each tuple, which `trimmed` needs."""

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Any = None) -> tuple[Tensor, Tensor]:
        """Each tuple's loss and how often it counts, (T,) both; differentiable by autograd."""


# Filters


class Filter(Protocol):
    """Decides which samples of a batch take part: those left out are in no tuple, and no proxy learns from them.

    An `nn.Module` is one. A constructor argument called `num_classes` or `embedding_size` is filled in by a trial
    (`filters.build_for`), and one called `rate` by its study. A trial's results depend on the state, so a resumed one
    must continue bit for bit.

    An optional method `watch(loss)` is given the trial's loss before the first batch. It raises a ValueError for a loss
    that it cannot use, which is then an error of the study.
    """

    version: ClassVar[int]
    stats: Mapping[str, Tensor]  # of the last call, 0-d tensors to log: at least `kept_share`

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Embeddings (N, D) float, observed labels (N,) int -> bool (N,): True for samples that take part.

        Called once for each step of the training, in order. At least one sample takes part.
        """

    def to(self, device: torch.device, /) -> Self: ...

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""

    def load_state_dict(self, state: Mapping[str, Any], /) -> Any: ...


# Miners


Draw = Callable[["torch.Size"], "Tensor"]
"""A shape -> float32 numbers, uniform in [0, 1), on the batch's device: the only randomness that a policy has."""


class Miner(Protocol):
    """Chooses tuples in a batch. `dml.miners.PolicyMiner` and `ForeignMiner` are miners.

    An optional attribute `takes_truth = True` makes it an oracle: it is called with `truth`, the true labels (N,).
    """

    stats: Mapping[str, Tensor]  # of the last call, 0-d tensors to log: at least `tuples` and `dropped_anchors`

    def __call__(self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None) -> Any:
        """Embeddings (N, D) float, labels (N,) int -> the tuples to train on: `Tuples`, `Pairs` or 4 index tensors.

        Without a generator, random numbers come from torch's default one.
        """


class PositivePolicy(Protocol):
    """Chooses the positives of each anchor.

    Its constructor's arguments are its settings: each has a default, which is the same in every policy that has a
    setting of that name. `batch` is a `dml.miners.MinerBatch`: classes, distances and similarities, on its device.
    """

    version: ClassVar[int]

    def __call__(self, batch: Any, draw: Draw) -> Tensor:
        """-> int64 (N, S): row i contains positions of anchor i's class mates, and -1 in unused columns.

        S depends on the shape of `batch.mates` only, so that nothing waits for the device.
        """


class NegativePolicy(Protocol):
    """Chooses the negatives of each anchor, given its positives. Settings and `batch` are as for positive policies."""

    version: ClassVar[int]

    def __call__(self, batch: Any, positives: Tensor, draw: Draw) -> Tensor:
        """positives int64 (N, S) -> one of two forms:

        - int64 (N, S): one negative for each positive, -1 if there is none;
        - bool (N, N): the negatives of each anchor; each of them is combined with each of its positives.
        """


# Data


NOISE_CONTEXT = {
    "features": "float (n, d), one row for each label: any description of the image, such as an embedding",
    "given": "int64 (n,), the labels as they came with the images; -1: none",
    "index": "int64 (n,), the rows of the packed data that the labels belong to",
    "paths": "text (n,), the images' files",
    "phase": "'tune' (some of the training classes) or 'confirm' (all of them)",
}
"""What a noise model may ask for beside labels and a seed: keywords of `corrupt`, and what they are."""


class NoiseModel(Protocol):
    """Turns clean labels into observed ones.

    Its constructor takes `rate` and its own settings, and every setting except `rate` and `path` has a default.
    `dml/noise/_labels.py` has the checks of rates and labels that every model makes, and the choice of samples.

    Optional attributes: `file_settings` names its settings that are a user's own files (`("path",)`); `makes_noise` is
    False if it reads labels as they came and makes none wrong.
    """

    version: ClassVar[int]
    context: ClassVar[tuple[str, ...]]  # the keywords of `corrupt`, all from `NOISE_CONTEXT`
    topline: ClassVar[bool]  # it leaves samples out and flips no label: the reference for other models at its rate
    rate: float  # share of wrong labels, or of samples left out by a topline; 0 <= rate < 1

    def corrupt(self, labels: np.ndarray, seed: int, **context: Any) -> NoisyLabels:
        """Labels int64 (n,), from 0 -> what is observed. The same labels, seed and context give the same result.

        A model names each of its `context` as an argument with a default, and takes no other keyword.
        """


class Source(Protocol):
    """A dataset's raw files: how to obtain them, what they contain, and the role of each image.

    Its constructor takes the options that a study may set. `dml.data.sources.build` checks that a source has all of
    these members.

    Optional attributes: `file_settings` names the options that are a user's own files or folders, which are never
    downloaded; `takes_given` is True if its records may have labels as given; `mirrors` is False if the mirror image of
    an image need not show the same class: of digits, letters and vectors; `own_labels` is False if they are those of a
    known dataset, and not a user's own, of which nobody knows how many are wrong; `shared` names what images of
    different classes are made of together, and only its own split keeps apart (an object may have "" there).
    """

    version: ClassVar[int]  # raised when `images` gives other records; packed data are then packed again
    name: ClassVar[str]  # also its folder in a mirror
    levels: ClassVar[tuple[str, ...]]  # of its labels: ("fine",) or ("fine", "coarse")

    @property
    def options(self) -> Mapping[str, Any]:
        """The constructor's settings as plain values. Packed data of other options are kept apart."""

    @property
    def disjoint(self) -> str:
        """The level whose classes train or test as a whole: `fine` or `coarse`."""

    @property
    def archives(self) -> Sequence[Any]:
        """What `download` fetches, as `dml.data.raw.Archive`; empty if there is nothing to fetch."""

    @property
    def complete(self) -> bool:
        """Whether `counts` and `content` must hold; False accepts a part of the dataset."""

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Known numbers, `{role: {"images": n, "fine": n, "coarse": n}}`. The role `all` means every image."""

    @property
    def content(self) -> str | None:
        """The known digest of all decoded pixels and labels (`dml.data.packing.content_digest`)."""

    @property
    def root(self) -> str | Path | None:
        """The folder that the records' `path` is relative to; None: the raw folder."""

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Fetch and verify the raw files into the folder `raw` (the mirror first, then the public URLs)."""

    def fingerprint(self, raw: Path) -> str | None:
        """Changes with files outside of `raw`; None if all files are in `raw`."""

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records in a fixed order.

        Each has `image` (a file's path, encoded bytes, or uint8 (H, W) or (H, W, C)), `fine` (int) and `path` (str),
        and if known `coarse` (int), `fine_name`, `coarse_name`, `part` (the dataset's own designation), `camera` (int).
        `given_fine` and `given_coarse` (int) are the labels as they came, where `fine` and `coarse` are verified.
        `verified: False` says that nobody verified them, so that `fine` is as it came.
        """

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train, seen, test, query, gallery or unused for each row of a packed index."""


@runtime_checkable
class VectorSource(Protocol):
    """A source of vectors in place of images. In its records, `image` is any array of one grey pixel."""

    backbone: ClassVar[str]  # the backbone that passes vectors on unchanged

    def vectors(self, raw: Path) -> np.ndarray:
        """float16, float32 or float64 (n, D), may be mapped; row i belongs to record i of `images`."""


@runtime_checkable
class LeavesOut(Protocol):
    """A source of a user's own files, which may not read all of them. Sources of `dml` have this member."""

    def left_out(self) -> str:
        """What to tell the user of files that are not read; "" if there are none."""


@runtime_checkable
class SplitBySeed(Protocol):
    """A source with several splits, of which a trial's seed selects one. Sources of `dml` have both members."""

    @property
    def seeds(self) -> Sequence[int] | None:
        """The seeds that select a split; None: the split is the same for all seeds."""

    def for_seed(self, seed: int) -> Source:
        """The source whose `roles` are those of a seed's split. Raises ValueError if there is none."""


@runtime_checkable
class SplitByClasses(Protocol):
    """A source that tests other images of a class than it trains on: `class_splits` exchanges more than two roles."""

    def roles_of(self, index: pd.DataFrame, tested: np.ndarray) -> np.ndarray:
        """The `roles` if these classes of the level `disjoint` were those that test."""


class Sampler(Protocol):
    """An endless iterator of batches: int64 (B,) positions into the training labels.

    Its constructor takes `labels` int64 (n,), `classes`, `per_class` and `seed`; if `needs_coarse`, also `coarse`.
    """

    version: ClassVar[int]
    needs_coarse: ClassVar[bool]  # batches cannot be made without coarse labels
    bounded: ClassVar[bool]  # no batch contains more than `per_class` samples of a class

    def __iter__(self) -> Self: ...

    def __next__(self) -> np.ndarray: ...

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch, as plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue after the batch at which `state` was taken."""


class Augmentation(Protocol):
    """A pipeline over whole batches.

    Its constructor takes `channels` (1, 3, or None: those of the input) and `normalization` (`dml.data.augment.build`).
    An optional attribute `mirrors` is True if it mirrors training images.
    """

    version: ClassVar[int]

    @property
    def image_size(self) -> int | None:
        """Side of the result in pixels; None: that of its input."""

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """uint8 (B, C, H, W) -> float32 (B, C', h, w). Nothing is random unless `training`."""


# Models


class Backbone(Protocol):
    """Images to features: an `nn.Module`. Its constructor takes `channels` and `image_size`.

    An optional attribute `square` is True if images that are not square do not fit its layers.
    """

    version: ClassVar[int]
    packages: ClassVar[Sequence[str]]  # whose versions decide its initial weights beside torch's: `("torchvision",)`
    file_settings: ClassVar[Sequence[str]]  # those of its settings that name files: a key contains their digests
    features: int  # width of the result; of another package's class, `dml.models.build` measures it

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """The channels that it takes where the images have `channels`."""

    @classmethod
    def statistics(cls, **settings: Any) -> dict[str, list[float]] | None:
        """Mean and std that its pretrained weights expect, for pixels from 0 to 1; None without such weights."""

    @classmethod
    def pixels(cls, **settings: Any) -> Resize | None:
        """The size, the filter and the crop that its pretrained weights were trained for; None without such weights."""

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings that build the same network without fetching weights, which are then loaded from a checkpoint."""

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Raise a ValueError if an optional package that these settings need is missing; say how to install it."""

    def __call__(self, images: Tensor) -> Tensor:
        """images (N, C, H, W) float -> (N, features)."""


# Evaluation


@runtime_checkable
class RetrievalMetric(Protocol):
    """A number for each query, from the neighbours that `evaluation.evaluate` finds once for all metrics.

    A constructor argument `k` is the number in the metric's name, as in `recall@5`.
    """

    version: ClassVar[int]

    def depth(self, most: int) -> int | None:
        """Neighbours needed if no query has more than `most` relevant rows; None: the whole ranking."""

    def __call__(self, hits: Any) -> np.ndarray:
        """`evaluation.relevance.Hits` of b queries -> float64 (b,)."""


@runtime_checkable
class ClusteringMetric(Protocol):
    """A number from a k-means clustering, which all metrics that ask for as many clusters share.

    Constructor arguments called `average` and `over_clustering` are set by the options of `evaluation.evaluate`.
    """

    version: ClassVar[int]
    more_clusters: ClassVar[bool]  # than classes

    def clusters(self, classes: int) -> int:
        """How many clusters k-means looks for."""

    def __call__(self, table: Any) -> float:
        """`evaluation.metrics.scores.Contingency` -> the score."""


@runtime_checkable
class PairMetric(Protocol):
    """A number from the distances of all pairs, which all such metrics share."""

    version: ClassVar[int]

    def of_pairs(self, positive: np.ndarray, negative: np.ndarray) -> float:
        """How many pairs of one class and of two classes are how far apart, nearest first, int64 (bins,) -> the score.

        NaN without pairs of both kinds.
        """


# Training


class Trainer(Protocol):
    """Runs one trial. Constructed with (spec, data_root, folder, device); resumes from the checkpoint in the folder.

    An error named `TrainingError` is the trial's result, since it would recur. After any other the trial is run again.
    """

    @property
    def finished(self) -> bool:
        """Whether all steps are done and evaluated."""

    def advance(self) -> EvaluationPoint:
        """Train to the next evaluation, evaluate, and save a checkpoint."""

    def result(self) -> TrialResult:
        """The scores and diagnostics so far: after the last evaluation, of which there is at least one."""

    def discard_checkpoint(self) -> None:
        """Delete the checkpoints that are not kept. Called once the result is recorded."""

    def close(self) -> None:
        """Stop what runs in the background. Called when the trial leaves its worker, however it ended."""


TrainerFactory = Callable[[TrialSpec, Path, Path, str], Trainer]
