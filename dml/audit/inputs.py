"""What an audit is given, checked before any work starts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from dml import seeding
from dml.tables import host_array
from dml.tensors import from_array


class Learner(Protocol):
    """Learns vectors from labels, such as by training a network. It never sees labels that its vectors predict."""

    digest: str  # of all that decides the vectors beside the labels: images, settings, versions

    def __call__(self, observed: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """For each array of labels, the vectors that are learned from these labels only."""
        ...


JUDGED_FROM = 3  # images of a class; with fewer, a fold can leave none or one to learn it from
LONG = 1e15  # a number whose square is no float32 beside those of others
CHUNK = 1 << 20  # numbers in one temporary array


class Classes(NamedTuple):
    """Checked labels. Images of classes that are too small to judge have the code -1."""

    labels: np.ndarray  # (n,), as given: integers or strings
    names: np.ndarray  # (K,): the labels of the K classes that are judged, ascending
    codes: np.ndarray  # int64 (n,): the position in `names`, or -1
    beyond: dict[Any, int]  # label -> images, for the classes that are not judged


class Given(NamedTuple):
    """Checked vectors and labels."""

    vectors: dict[str, Tensor]  # by representation, float32 (n, D)
    learners: dict[str, Learner]  # the representations that are learned from labels
    classes: Classes
    digest: str  # of vectors (of a learner, its own) and labels


def check(vectors: Any, labels: Any) -> Given:
    """Check vectors (arrays, or a `Learner` of each) and labels."""
    if isinstance(vectors, Mapping) and not vectors:
        raise ValueError("audit: vectors: expected an array (n, D) or a mapping of names to arrays, got an empty one")
    named = dict(vectors) if isinstance(vectors, Mapping) else {"vectors": vectors}
    classes = check_labels(labels)
    learners = {str(name): value for name, value in named.items() if callable(value)}
    for name, learner in learners.items():
        if not isinstance(getattr(learner, "digest", None), str):
            raise ValueError(f"audit: {name!r}: a learner needs a `digest`, the text that identifies what it learns")
    checked = {
        str(name): check_vectors(str(name), value, len(classes.labels))
        for name, value in named.items()
        if not callable(value)
    }
    return Given(checked, learners, classes, _digest(checked, learners, classes.labels))


def check_labels(labels: Any) -> Classes:
    """Check labels alone, before vectors are computed. Raises as `check` does."""
    labels = _labels(labels)
    names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    if len(names) < 2:
        raise ValueError(
            f"audit: expected at least two classes, but all {len(labels)} labels are {names[0].item()!r}: "
            "no label can be told from another"
        )
    judged = counts >= JUDGED_FROM
    if judged.sum() < 2:
        raise ValueError(
            f"audit: expected at least two classes of {JUDGED_FROM} or more, got {int(judged.sum())} "
            f"(the {len(names)} classes have {counts.min()} to {counts.max()}): smaller ones are beyond judgement"
        )
    renumber = np.where(judged, np.cumsum(judged) - 1, -1)
    beyond = {names[k].item(): int(counts[k]) for k in np.flatnonzero(~judged)}
    return Classes(labels, names[judged], renumber[codes].astype(np.int64), beyond)


def _labels(labels: Any) -> np.ndarray:
    array = host_array(labels, "audit: labels")
    if array.ndim == 1 and not isinstance(labels, Tensor | np.ndarray):
        array = np.asarray(labels, dtype=object)  # otherwise a missing one (NaN) among texts is the text "nan"
    if array.ndim == 1 and array.dtype.kind == "O":
        missing = np.flatnonzero(pd.isna(array))
        if len(missing):
            raise ValueError(f"audit: labels: {len(missing)} of {len(array)} are missing: rows {_rows(missing)}")
        array = np.asarray(array.tolist())
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        raise ValueError(f"audit: labels: expected integers or strings (n,), got {array.dtype} {array.shape}")
    if len(array) == 0:
        raise ValueError("audit: labels: expected at least two classes, got no labels")
    missing = np.flatnonzero(array == "") if array.dtype.kind == "U" else np.flatnonzero(array < 0)
    if len(missing):
        raise ValueError(
            f"audit: labels: {len(missing)} of {len(array)} are missing (empty or below 0): rows {_rows(missing)}"
        )
    return array


def check_vectors(name: str, values: Any, n: int) -> Tensor:
    """float32 (n, D), finite."""
    array = host_array(values, f"audit: {name!r}")
    if array.dtype.kind not in "fiu":
        raise ValueError(f"audit: {name!r}: expected numbers (n, D), got {array.dtype} {array.shape}")
    tensor = from_array(np.ascontiguousarray(array, dtype=np.float32))
    if tensor.ndim != 2 or tensor.shape[1] == 0:
        raise ValueError(f"audit: {name!r}: expected vectors (n, D), got {tuple(tensor.shape)}")
    if len(tensor) != n:
        raise ValueError(f"audit: {name!r}: expected one vector for each of the {n} labels, got {len(tensor)}")
    rows = max(1, CHUNK // tensor.shape[1])
    largest = torch.cat([part.abs().amax(1) for part in tensor.split(rows)])
    bad = (~largest.isfinite()).numpy().nonzero()[0]
    if len(bad):
        raise ValueError(f"audit: {name!r}: {len(bad)} of {n} rows hold NaN or infinity: {_rows(bad)}")
    if bool(((largest > LONG) | ((largest > 0) & (largest < 1 / LONG))).any()):  # its square is no float32
        tensor = tensor / torch.where(largest > 0, largest, 1.0)[:, None]
    return tensor


def _rows(rows: np.ndarray) -> str:
    return ", ".join(map(str, rows[:10])) + (", ..." if len(rows) > 10 else "")


def _digest(vectors: dict[str, Tensor], learners: dict[str, Learner], labels: np.ndarray) -> str:
    kind = "" if labels.dtype.kind == "U" else "numbers\0"  # which sort unlike the same as text
    digest = hashlib.sha256((kind + "\0".join(map(str, labels.tolist()))).encode())
    for name, tensor in vectors.items():
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(np.ascontiguousarray(tensor.numpy()).view(np.uint8).data)
    for name, learner in learners.items():
        digest.update(f"{name} learned {learner.digest}".encode())
    return digest.hexdigest()


def observed_labels(codes: np.ndarray, folds: np.ndarray, kept: np.ndarray) -> list[np.ndarray]:
    """Labels int64 (n,) to learn each fold's vectors from: the kept ones of other folds, or all if a class has none."""
    out = []
    for fold in range(int(folds.max()) + 1):
        others = (codes >= 0) & (folds != fold)
        missing = np.setdiff1d(codes[others], codes[others & kept])
        out.append(np.where(others & (kept | np.isin(codes, missing)), codes, -1))
    return out


def learned(name: str, learner: Learner, observed: Sequence[np.ndarray]) -> list[Tensor]:
    """The vectors of each fold, float32 (n, D). Mapped files stay mapped."""
    vectors = learner([labels.copy() for labels in observed])
    if len(vectors) != len(observed):
        raise ValueError(f"audit: {name!r}: expected vectors for each of the {len(observed)} folds, got {len(vectors)}")
    return [check_vectors(f"{name}, fold {fold}", values, len(observed[fold])) for fold, values in enumerate(vectors)]


def deal(codes: np.ndarray, count: int, seed: int) -> np.ndarray:
    """The fold of every image, int64 (n,); -1 for images whose code is -1.

    The images of a class are dealt to the folds in turn, in random order. The first fold differs between classes.
    """
    draw = seeding.numpy_generator(seed, "audit/folds")
    order = draw.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    order = order[codes[order] >= 0]
    out = np.full(len(codes), -1, dtype=np.int64)
    out[order] = np.arange(len(order)) % count
    return out


def folds_of(labels: Any, folds: int = 5, seed: int = 0) -> np.ndarray:
    """The fold of every image in `dml.audit.audit` with these arguments, int64 (n,); -1: beyond judgement."""
    codes = check_labels(labels).codes
    return deal(codes, min(folds, int((codes >= 0).sum())), seed)
