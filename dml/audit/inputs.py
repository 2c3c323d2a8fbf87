"""What an audit is given, checked before any work starts."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from dml import files, seeding
from dml.tables import host_array
from dml.tensors import from_array


class Learner(Protocol):
    """Learns vectors from labels, such as by training a network.

    `dml.audit.audit` takes one in place of an array. It never sees the label of an image whose prediction its vectors
    are for.
    """

    digest: str  # of all that decides the vectors beside the labels: images, settings, versions

    def __call__(self, observed: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """For each array of labels, the vectors that are learned from these labels only.

        Parameters
        ----------
        observed : each int64 (n,): classes from 0 to K - 1, or -1: the image's label is held out. One for each fold.

        Returns
        -------
        Floats (n, D) of all n images, as many arrays as `observed` has. They may be mapped files.
        """
        ...


JUDGED_FROM = 3  # images of a class; with fewer, a fold can leave none or one to learn it from
DEFAULT_NAME = "vectors"
CHUNK = 1 << 20  # numbers in one temporary array
SAFE = 2.0**-40, 2.0**40  # sums of squares of numbers in between are ordinary float32 numbers


class Given(NamedTuple):
    """Checked vectors and labels. Images of classes that are too small to judge have the code -1."""

    vectors: dict[str, Tensor]  # by representation, float32 (n, D)
    learners: dict[str, Learner]  # the representations that are learned from labels
    labels: np.ndarray  # (n,), as given: integers or strings
    names: np.ndarray  # (K,): the labels of the K classes that are judged, ascending
    codes: np.ndarray  # int64 (n,): the position in `names`, or -1
    beyond: dict[Any, int]  # label -> images, for the classes that are not judged
    digest: str  # of vectors (of a learner, its own) and labels


def check(vectors: Any, labels: Any) -> Given:
    """Check vectors (arrays, or a `Learner` of each) and labels.

    Raises
    ------
    ValueError : no vectors; not finite floats (n, D); labels that are not n integers or strings, or missing; fewer than
        two classes with at least 3 images.
    """
    if isinstance(vectors, Mapping) and not vectors:
        raise ValueError("audit: vectors: expected an array (n, D) or a mapping of names to arrays, got an empty one")
    named = dict(vectors) if isinstance(vectors, Mapping) else {DEFAULT_NAME: vectors}
    known = check_labels(labels)
    learners = {str(name): value for name, value in named.items() if callable(value)}
    for name, learner in learners.items():
        if not isinstance(getattr(learner, "digest", None), str):
            raise ValueError(f"audit: {name!r}: a learner needs a `digest`, the text that identifies what it learns")
    checked = {
        str(name): check_vectors(str(name), value, len(known.labels))
        for name, value in named.items()
        if not callable(value)
    }
    return Given(checked, learners, *known, _digest(checked, learners, known.labels))


class Classes(NamedTuple):
    """Checked labels; as the fields of `Given` with these names."""

    labels: np.ndarray
    names: np.ndarray
    codes: np.ndarray
    beyond: dict[Any, int]


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
    """float32 (n, D), finite. Only directions count: very long and very short rows are multiplied by a power of two."""
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
    return _scaled(tensor, largest)


def _scaled(tensor: Tensor, largest: Tensor) -> Tensor:
    """Vectors (n, D) whose largest numbers (n,) are near 1 where they were extreme. Directions keep every bit."""
    low, high = SAFE
    rows = ((largest > 0) & ((largest < low) | (largest > high))).nonzero()[:, 0]
    if not len(rows):
        return tensor
    exponent = torch.frexp(largest[rows]).exponent.clamp(-126, 126)
    scaled = tensor.clone()  # the caller's own may be the argument
    scaled[rows] = torch.ldexp(tensor[rows], -exponent[:, None])
    return scaled


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
    """What the vectors of each fold are learned from, int64 (n,): the labels of the kept images of the other folds.

    A class without a kept image there is learned from those that are not kept.

    Parameters
    ----------
    codes : int64 (n,), the given class; -1: not judged.
    folds : int64 (n,), the fold, or -1.
    kept : bool (n,).
    """
    out = []
    for fold in range(int(folds.max()) + 1):
        others = (codes >= 0) & (folds != fold)
        missing = np.setdiff1d(codes[others], codes[others & kept])
        out.append(np.where(others & (kept | np.isin(codes, missing)), codes, -1))
    return out


def learned(name: str, learner: Learner, observed: Sequence[np.ndarray]) -> list[Tensor]:
    """The vectors of each fold, float32 (n, D). Mapped files stay mapped.

    Raises
    ------
    ValueError : the learner returned another number of arrays, or something that is not n finite vectors.
    """
    found = learner([labels.copy() for labels in observed])
    if len(found) != len(observed):
        raise ValueError(f"audit: {name!r}: expected vectors for each of the {len(observed)} folds, got {len(found)}")
    return [check_vectors(f"{name}, fold {fold}", values, len(observed[fold])) for fold, values in enumerate(found)]


def deal(codes: np.ndarray, count: int, seed: int) -> np.ndarray:
    """The fold of every image, int64 (n,), in 0..count-1; -1 for images whose code is -1.

    The images of a class are dealt to the folds in turn, in random order, so that the folds' shares of a class differ
    by at most one image. The first fold differs between classes: small classes fill all folds equally.
    """
    draw = seeding.numpy_generator(seed, "audit/folds")
    order = draw.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    order = order[codes[order] >= 0]
    out = np.full(len(codes), -1, dtype=np.int64)
    out[order] = np.arange(len(order)) % count
    return out


def folds_of(labels: Any, folds: int = 5, seed: int = 0) -> np.ndarray:
    """The fold of every image in `dml.audit.audit` with these arguments, int64 (n,); -1: beyond judgement.

    Raises
    ------
    ValueError : labels that cannot be audited.
    """
    codes = check_labels(labels).codes
    return deal(codes, min(folds, int((codes >= 0).sum())), seed)


Progress = Callable[[float, str], None]


class Steps:
    """Calls the user's function with the share done, 0 to 1, and what is being done.

    Parameters
    ----------
    count : of all steps.
    """

    def __init__(self, progress: Progress | None, count: int) -> None:
        self._progress, self._count, self._done, self._text = progress, count, 0, ""

    def say(self, text: str) -> None:
        """A new piece of work begins."""
        self._text = text
        self.part(0.0)

    def step(self) -> None:
        """A step is done."""
        self._done += 1
        self.part(0.0)

    def part(self, share: float) -> None:
        """A share of the next step is done."""
        if self._progress is not None:
            self._progress(min(1.0, (self._done + share) / self._count), self._text)


VERSION = 1  # of the files
AGAIN = "run the audit again"
BROKEN = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
"""What reading a broken `.npz` raises."""


def write(folder: Path, kind: str, content: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
    """Write `<kind>.json` and a Parquet file for each table. The JSON file comes last: without it nothing is saved."""
    digests = {}
    for name, table in tables.items():
        with files.replacing(folder / f"{name}.parquet") as temporary:
            table.to_parquet(temporary, index=False)
        digests[name] = files.sha256(folder / f"{name}.parquet")
    files.write_json(folder / f"{kind}.json", {**content, "saved": _mark(kind), "version": VERSION, "tables": digests})


def read(folder: Path, kind: str, tables: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """What `write` wrote.

    Raises
    ------
    ValueError : a file is missing, is not of this kind or version, or a table is not the one that was saved.
    """
    path = folder / f"{kind}.json"
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file: no {kind} was saved here")
    content = files.read_json(path)
    if not isinstance(content, dict) or content.get("saved") != _mark(kind):
        raise ValueError(f"{path}: expected {_mark(kind)!r}, but the file is broken or of something else: {AGAIN}")
    if content.get("version") != VERSION:
        raise ValueError(f"{path}: expected version {VERSION}, got {content.get('version')!r}: {AGAIN}")
    found = {}
    for name in tables:
        place = folder / f"{name}.parquet"
        if not place.is_file():
            raise ValueError(f"{place}: the file is missing, which {path.name} names: {AGAIN}")
        if files.sha256(place) != content.get("tables", {}).get(name):
            raise ValueError(f"{place}: the file is not the one that {path.name} was saved with: {AGAIN}")
        found[name] = pd.read_parquet(place)
    return content, found


def labels(values: Any) -> np.ndarray:
    """Labels as an audit has them: int64 (n,) or strings (n,)."""
    array = np.asarray(values)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(str)


def _mark(kind: str) -> str:
    return f"{kind} of dml.audit"
