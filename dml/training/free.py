"""What a good practitioner gets without training: the best features, projection and views, chosen on held-out classes.

Candidates are all features that are given (of several layers, poolings or networks), each row of unit length, x
projections (none, principal components, whitening and LDA, `dml.training.closed_form`: with shrinkage 1, with 0.1 for
short layers, with 10 for pixels) x one view of each image or both.
The observed classes are halved, and each half is embedded as the other half says. Whitening of all views of the first
features stays unless another candidate is surely better: of those whose gain in the mean of classes has an interval
above zero, that with the highest mean score wins. Wrong labels make scores noisy, and the best of many noisy scores is
often a worse candidate. No correct label, validation set or step of training is needed. The winner is fitted to all.

The baseline of a study's page, its method `free`, and what is free in a folder without a study are computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

import numpy as np
import torch

from dml import evaluation, models
from dml.data import DataError
from dml.data import augment as augmentations
from dml.data.packing.decoding import CorruptImage, How, as_resize, decode, resize
from dml.evaluation import augmented, evaluate, joined, per_class
from dml.models import Layers
from dml.statistics import summary
from dml.tensors import directions
from dml.training.closed_form import NORMALIZED, SHRINKAGE, ClosedForm, Projection, apply, some, taking_part
from dml.types import Views

version = 4
"""Raised when the same features and labels choose another embedding; keys of trials of the method contain it."""

KIND = "free"  # of a head, beside those of `closed_form`
NO_PROJECTION = "none"
WORDS = {NO_PROJECTION: "as they are", "components": "components", "whitening": "whitened", "lda": "LDA"}
SHARP, SOFT = 0.1, 10.0  # the other shrinkages
FORMS: tuple[tuple[str, float | None], ...] = (  # of equally good ones the first is chosen
    *((NO_PROJECTION, None), ("components", None)),
    *((kind, shrinkage) for shrinkage in (SHRINKAGE, SHARP, SOFT) for kind in NORMALIZED),
)
WORDS_BY_SHRINKAGE = {
    SHARP: {"whitening": "sharply whitened", "lda": "sharp LDA"},
    SOFT: {"whitening": "softly whitened", "lda": "soft LDA"},
}
SCORED = 2_000  # rows of held-out classes that are scored, at most
OF_QUERIES = "recall@1"  # is surely better where the metric that chooses has no score of each class
FEWEST = 4  # classes, of which half can be told apart
BATCH = 16  # images embedded at once: their activations stay in the cache of a core
AS_THEY_ARE, CHOSEN, RERANKED, UNSUSPECTED = "as they are", "chosen", "re-ranked", "without suspects"


@dataclass(frozen=True)
class Candidate:
    """One way to embed without training."""

    features: str  # the name of the features
    projection: str  # `none`, or a kind of `closed_form`
    views: Views
    shrinkage: float | None = None

    def __str__(self) -> str:
        """`before conv_head, whitened, both views`; the last layer is not named."""
        named = "" if self.features == Layers.last else f"{self.features}, "
        words = WORDS if self.shrinkage is None else WORDS_BY_SHRINKAGE.get(self.shrinkage, WORDS)
        return named + words[self.projection] + (", both views" if self.views == "mirror" else "")


@dataclass(frozen=True)
class Free:
    """The chosen one, fitted."""

    chosen: Candidate
    projection: Projection | None
    scores: Mapping[Candidate, float]  # 0 to 1, on held-out classes; empty if there were too few classes to choose by

    def embed(self, features: Mapping[str, np.ndarray]) -> np.ndarray:
        """Features by name, (m, V, D) each -> unit embeddings float32 (m, d), d at most the size that was asked for."""
        return embedded(self.chosen, self.projection, unit(features[self.chosen.features]))

    def head(self, widths: Mapping[str, int], size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The same as a linear map of all features side by side, each of unit length.

        `widths` : D of each, in their order -> weight (size, sum D), bias (size,). Rows beyond the embedding are zero.
        """
        weight, bias = torch.zeros(size, sum(widths.values())), torch.zeros(size)
        before = list(widths).index(self.chosen.features)
        start, width = sum(list(widths.values())[:before]), widths[self.chosen.features]
        axes = torch.eye(width) if self.projection is None else self.projection.weight.cpu()
        weight[: len(axes), start : start + width] = axes
        if self.projection is not None:
            bias[: len(axes)] = self.projection.bias.cpu()
        return weight, bias


def choose(
    features: Mapping[str, np.ndarray], labels: np.ndarray, metric: str = "recall@1", size: int | None = None
) -> Free:
    """The candidate that observed labels int (n,) choose, fitted to all rows with a label (-1: none).

    `features` by name, float (n, V, D): V = 1 view, or the image and its mirror image. `metric` is of the mean and
    of classes; clusterings leave classes to R@1. `size` d at most; None: all D. MAP@R overrates LDA
    (docs/benchmarks/regime.md). Raises ValueError as `closed_form.ClosedForm`.
    """
    _check_features(features, len(labels))
    kept = taking_part(np.asarray(labels))
    labels = np.unique(np.asarray(labels)[kept], return_inverse=True)[1]
    rows = {name: unit(np.asarray(given)[kept]) for name, given in features.items()}
    scores: dict[Candidate, list[float]] = {}
    by_class: dict[Candidate, list[np.ndarray]] = {}
    for half in (0, 1) if labels.max(initial=-1) + 1 >= FEWEST else ():
        fitted, held_out = np.flatnonzero(labels % 2 == half), np.flatnonzero(labels % 2 != half)
        tested = held_out[some(labels[held_out], SCORED)]
        for candidate, projection in candidates({n: g[fitted] for n, g in rows.items()}, labels[fitted], size):
            embeddings = embedded(candidate, projection, rows[candidate.features][tested])
            values = evaluate(embeddings, labels[tested], list(dict.fromkeys([metric, OF_QUERIES])), per_query=True)
            scores.setdefault(candidate, []).append(values[metric])
            of_classes = per_class(values.per_query)
            by_class.setdefault(candidate, []).append(of_classes.get(metric, of_classes[OF_QUERIES]).to_numpy())
    halves = {one: values for one, values in scores.items() if len(values) == 2 and not np.isnan(values).any()}
    means = {one: fmean(values) for one, values in halves.items()}
    each = {one: np.concatenate(by_class[one]) for one in means}
    usual = max(means, key=_usual, default=None)
    better = [one for one in means if usual and surely_above(each[one], each[usual])]
    fits = dict(candidates(rows, labels, size, max(better, key=lambda one: means[one], default=usual)))
    if not fits:
        raise ValueError("without training: expected features (n, V, D) by name, got none")
    chosen = max(fits, key=_usual)  # only one, if chosen
    return Free(chosen, fits[chosen], means)


def _usual(one: Candidate) -> tuple[bool, bool]:
    """Is largest for what is best if nothing is known: whitening of all views, of the first features."""
    return one.projection == "whitening", one.views == "mirror"


def surely_above(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether the interval of the mean difference of classes (K,), NaN where a class has no query, is above zero."""
    apart = (first - second)[np.isfinite(first)]
    return len(apart) > 1 and summary(apart).low > 0


@dataclass(frozen=True)
class Look:
    """What is free in images that have no study yet.

    `steps` are scores by metric of the first features `as they are`, of what is `chosen`, of that `re-ranked` by its
    neighbours, and of what is chosen `without suspects` if there are any, means over folds of classes that neither
    choose nor are fitted to. The labels are those that are given: wrong ones lower all scores.
    """

    free: Free  # chosen by and fitted to all classes, without suspects if that scores higher
    steps: Mapping[str, Mapping[str, float]]
    images: int  # with a label
    classes: int


def look(
    features: Mapping[str, np.ndarray],
    labels: np.ndarray,
    metrics: Sequence[str] = ("recall@1", "map@r"),
    folds: int = 3,
    suspects: np.ndarray | None = None,
) -> Look:
    """What is free, with its scores on folds of classes that are held out; at most half as many folds as classes.

    `features` as of `choose`; of image files what `features_of` returns, of vectors (n, D) `{"vectors": x[:, None]}`.
    `labels` are whole numbers or names (n,), -1: none. The first of `metrics` chooses. `suspects` bool (n,): images
    whose labels look wrong (`dml.audit`). In a step of its own they neither choose nor are fitted to. Raises ValueError
    for other shapes, a missing label, no metric, or fewer than four classes of two images.
    """
    names = np.asarray(labels)
    if names.ndim != 1 or any(label is None or label != label for label in names.tolist()):
        raise ValueError("what is free: expected a label of each image, -1 where it has none, got None, NaN or a table")
    _check_features(features, len(names))
    if isinstance(metrics, str) or not metrics:
        raise ValueError(f"what is free: metrics: expected a list such as ['recall@1', 'map@r'], got {metrics!r}")
    named, codes = np.unique(names, return_inverse=True)
    observed = np.where(names == -1, -1, codes) if names.dtype.kind in "iu" else codes
    counts = np.bincount(observed[observed >= 0], minlength=len(named))
    paired = np.flatnonzero(counts > 1)  # classes that can be scored
    if len(paired) < FEWEST:
        raise ValueError(
            f"what is free: expected at least {FEWEST} classes of two or more, got {len(paired)} among "
            f"{np.count_nonzero(counts)}"
        )
    folds, first = min(folds, len(paired) // 2), next(iter(features))
    dropped = np.zeros(len(names), bool) if suspects is None else np.asarray(suspects, dtype=bool)
    if dropped.shape != names.shape:
        raise ValueError(f"what is free: suspects: expected {len(names)} truth values, got {dropped.shape}")
    each: dict[str, list[Mapping[str, float]]] = {}
    for fold in range(folds):
        held_out = np.isin(observed, paired[fold::folds])
        best = choose(features, np.where(held_out, -1, observed), metrics[0])
        others = choose(features, np.where(held_out | dropped, -1, observed), metrics[0]) if dropped.any() else None
        tested = np.flatnonzero(held_out)
        tested = tested[some(observed[tested], SCORED)]
        images = {name: given[tested] for name, given in features.items()}
        chosen = best.embed(images)
        plain = embedded(Candidate(first, NO_PROJECTION, "one"), None, unit(features[first][tested]))
        embeddings = {AS_THEY_ARE: plain, CHOSEN: chosen, RERANKED: augmented(chosen).numpy()}
        for step, rows in (embeddings | ({UNSUSPECTED: others.embed(images)} if others else {})).items():
            each.setdefault(step, []).append(evaluate(rows, observed[tested], list(metrics)))
    steps = {step: {name: fmean(fold[name] for fold in scores) for name in metrics} for step, scores in each.items()}
    better = UNSUSPECTED in steps and steps[UNSUSPECTED][metrics[0]] > steps[CHOSEN][metrics[0]]
    best = choose(features, np.where(dropped & better, -1, observed), metrics[0])
    return Look(best, steps, int((observed >= 0).sum()), int((counts > 0).sum()))


def features_of(
    paths: Sequence[str | Path],
    backbone: str = "efficientnet_lite0",
    settings: Mapping[str, Any] | None = None,
    side: How = 224,
    views: Views = "mirror",
    device: str = "cpu",
) -> dict[str, np.ndarray]:
    """The features of image files of any size, by the names of a network's layers, float32 (n, V, D) each, for `look`.

    Images are squashed to squares of `side` pixels, or resized as a `dml.types.Resize` says. `views`: `one`, or
    `mirror`: the mirror image too, which is wrong for text and digits. Raises ValueError for no paths or a backbone
    that does not fit, DataError for an image that cannot be decoded.
    """
    if isinstance(paths, str | Path) or not len(paths):
        raise ValueError(f"what is free: expected a list of paths of images, got {paths or 'none'}")
    if views not in get_args(Views):
        raise ValueError(f"what is free: views: expected {' or '.join(get_args(Views))}, got {views!r}")
    part, settings = models.find(backbone), dict(settings or {})
    channels = part.channels_for(3)
    pixels = side if isinstance(side, int) else as_resize(side or 224).side
    options = {"embedding_size": 1, "channels": channels, "image_size": pixels, "layers": True, **settings}
    network: Any = models.build(backbone, **options).backbone
    network.eval().to(device, memory_format=torch.channels_last)  # in which CPUs convolve twice as fast
    augment = augmentations.build("none", channels=channels, normalization=part.statistics(**settings) or "none")
    dimensions = [(), (-1,)][: 2 if views == "mirror" else 1]

    def embed(pixels: torch.Tensor) -> torch.Tensor:
        images = augment(pixels, training=False)
        return torch.cat([network(images.flip(flipped)) for flipped in dimensions], dim=1)

    batches = (_pixels(paths[start : start + BATCH], side) for start in range(0, len(paths), BATCH))
    with torch.inference_mode():
        features = evaluation.embed(embed, batches, len(paths), device).cpu().numpy()
    ends = np.cumsum(list(network.widths.values()))
    layers = np.split(features.reshape(len(paths), len(dimensions), -1), ends[:-1], axis=2)
    return dict(zip(network.widths, layers, strict=True))


def _check_features(features: Mapping[str, np.ndarray], images: int) -> None:
    """That features (n, V, D), V = 1 or 2, are of as many images as there are labels."""
    if not features or any(len(given) != images for given in features.values()):
        lengths = ", ".join(f"{name} of {len(given)}" for name, given in features.items()) or "none"
        raise ValueError(f"what is free: expected features of {images} images, one for each label, got {lengths}")
    for name, shape in ((name, np.shape(given)) for name, given in features.items()):
        if len(shape) != 3 or shape[1] not in (1, 2):
            raise ValueError(
                f"what is free: features {name!r}: expected (n, V, D) with V = 1 or 2 views, got {shape}: of vectors "
                "(n, D), give x[:, None]"
            )


def _pixels(paths: Sequence[str | Path], side: How) -> torch.Tensor:
    """Image files -> uint8 (n, 3, side, side)."""
    images = []
    for path in paths:
        try:
            images.append(resize(decode(Path(path), 3), side))
        except CorruptImage as error:
            raise DataError(f"{path}: {error}") from None
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2)


def candidates(
    rows: Mapping[str, np.ndarray], labels: np.ndarray, size: int | None, only: Candidate | None = None
) -> Iterator[tuple[Candidate, Projection | None]]:
    """All candidates, or one, with their projections; without those that these rows do not allow."""
    for name, features in rows.items():
        if only is not None and only.features != name:
            continue
        forms, shorter = ClosedForm(features[:, 0], labels), size is not None and size < features.shape[2]
        views: tuple[Views, ...] = ("one", "mirror") if features.shape[1] > 1 else ("one",)
        for kind, shrinkage in FORMS if only is None else ((only.projection, only.shrinkage),):
            if kind == NO_PROJECTION and shorter:
                continue
            try:
                projection = (
                    None if kind == NO_PROJECTION else forms.projection(kind, size if shorter else None, shrinkage)
                )
            except ValueError:  # too few images of a class
                continue
            for view in views if only is None else (only.views,):
                yield Candidate(name, kind, view, shrinkage), projection


def embedded(candidate: Candidate, projection: Projection | None, features: np.ndarray) -> np.ndarray:
    """(m, V, D) -> unit vectors float32 (m, d)."""
    views = features if candidate.views == "mirror" else features[:, :1]
    views = np.asarray(views, dtype=np.float32) if projection is None else apply(projection, views)
    return joined(list(torch.from_numpy(views).unbind(dim=1))).numpy()


def unit(rows: np.ndarray) -> np.ndarray:
    """(..., D) -> float32 (..., D) of unit length."""
    given = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
    return directions(given.reshape(-1, given.shape[-1])).view(given.shape).numpy()
