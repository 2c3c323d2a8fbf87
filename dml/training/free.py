"""What a good practitioner gets without training: the best features, projection and views, chosen on held-out classes.

Candidates are all features that are given (of several layers, poolings or networks) x projections (none, principal
components, whitening, LDA: `dml.training.closed_form`) x one view of each image or both. The observed classes are
halved; each half is embedded as the other half says, and the candidate with the highest mean score wins. No correct
label, validation set or step of training is needed. The winner is fitted to all classes.

The baseline of a study's page and of a folder without a study are computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch

from dml.evaluation import evaluate, joined
from dml.training.closed_form import KINDS, SCORED, ClosedForm, Projection, apply, some, taking_part
from dml.types import Views

NO_PROJECTION = "none"
WORDS = {NO_PROJECTION: "as they are", "components": "components", "whitening": "whitened", "lda": "LDA"}
FEWEST = 4  # classes, of which half can be told apart


@dataclass(frozen=True)
class Candidate:
    """One way to embed without training."""

    features: str  # the name of the features
    projection: str  # `none`, or a kind of `closed_form`
    views: Views

    @property
    def text(self) -> str:
        """`whitened, both views`."""
        return WORDS[self.projection] + (", both views" if self.views == "mirror" else "")

    def __str__(self) -> str:
        return f"{self.features}, {self.text}"


@dataclass(frozen=True)
class Free:
    """The chosen one, fitted.

    Attributes
    ----------
    scores : what each candidate has on held-out classes, a share of 1; none if there were too few classes to choose by.
    """

    chosen: Candidate
    projection: Projection | None
    scores: Mapping[Candidate, float]

    def embed(self, features: Mapping[str, np.ndarray]) -> np.ndarray:
        """Features by name, (m, V, D) each -> unit embeddings float32 (m, d)."""
        return _embedded(self.chosen, self.projection, features[self.chosen.features])


def choose(
    features: Mapping[str, np.ndarray], labels: np.ndarray, metric: str = "map@r", size: int | None = None
) -> Free:
    """The candidate that observed labels choose, fitted to all rows with a label.

    Parameters
    ----------
    features : by name, float (n, V, D): V = 1 view, or the image and its mirror image.
    labels : observed classes, int (n,); rows with -1 are left out.
    metric : that chooses; any of `dml.evaluation`.
    size : d of all projections; None: all D. Features without a projection then count only if D is d.

    Raises
    ------
    ValueError : no candidate: no features, or none that can be projected to `size`; as `closed_form.ClosedForm`.
    """
    kept = taking_part(np.asarray(labels))
    labels = np.unique(np.asarray(labels)[kept], return_inverse=True)[1]
    rows = {name: np.asarray(given)[kept] for name, given in features.items()}
    scores: dict[Candidate, list[float]] = {}
    for half in (0, 1) if labels.max(initial=-1) + 1 >= FEWEST else ():
        fitted, held_out = np.flatnonzero(labels % 2 == half), np.flatnonzero(labels % 2 != half)
        tested = held_out[some(labels[held_out], SCORED)]
        for candidate, projection in _candidates({n: g[fitted] for n, g in rows.items()}, labels[fitted], size):
            embeddings = _embedded(candidate, projection, rows[candidate.features][tested])
            scores.setdefault(candidate, []).append(evaluate(embeddings, labels[tested], [metric])[metric])
    means = {candidate: fmean(own) for candidate, own in scores.items() if len(own) == 2 and not np.isnan(own).any()}
    fits = dict(_candidates(rows, labels, size, max(means, key=lambda one: means[one]) if means else None))
    if not fits:
        raise ValueError(
            f"without training: expected features of at least {size or 1} dimensions, got {_shapes(features)}"
        )
    chosen = max(fits, key=lambda one: (one.projection == "whitening", one.views == "mirror"))  # only one, if chosen
    return Free(chosen, fits[chosen], means)


def _candidates(
    rows: Mapping[str, np.ndarray], labels: np.ndarray, size: int | None, only: Candidate | None = None
) -> Iterator[tuple[Candidate, Projection | None]]:
    """All candidates, or one, with their projections; without those that these rows do not allow."""
    for name, given in rows.items():
        if only is not None and only.features != name:
            continue
        forms = ClosedForm(given[:, 0], labels)
        views: tuple[Views, ...] = ("one", "mirror") if given.shape[1] > 1 else ("one",)
        for kind in (NO_PROJECTION, *KINDS):
            if only is not None and only.projection != kind:
                continue
            if kind == NO_PROJECTION and size not in (None, given.shape[2]):
                continue
            try:
                projection = None if kind == NO_PROJECTION else forms.projection(kind, size)
            except ValueError:  # too few images of a class, or features that are shorter
                continue
            for view in views:
                candidate = Candidate(name, kind, view)
                if only in (None, candidate):
                    yield candidate, projection


def _embedded(candidate: Candidate, projection: Projection | None, given: np.ndarray) -> np.ndarray:
    """(m, V, D) -> unit vectors float32 (m, d)."""
    each = given if candidate.views == "mirror" else given[:, :1]
    found = np.asarray(each, dtype=np.float32) if projection is None else apply(projection, each)
    return joined(list(torch.from_numpy(found).unbind(dim=1))).numpy()


def _shapes(features: Mapping[str, np.ndarray]) -> str:
    return ", ".join(f"{name} {given.shape}" for name, given in features.items()) or "none"
