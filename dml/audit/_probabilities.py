"""Out-of-sample class probabilities of one representation, fold by fold, resumable."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml import files
from dml.audit._softmax import CHUNK, Basis, fit, turn

TOP = 16  # most likely classes that are kept for each image
SAMPLE = 2000  # images of a fold whose logits are kept,
SAMPLE_NUMBERS = 4_000_000  # or as many as fit this many numbers
STRONGEST = 1e-3  # penalties tried: from here down,
WEAKER = 3.0  # each so many times weaker than the last,
WEAKEST = 1e-7  # to here, until the first fold's labels are predicted less often
FALLS = 2  # times: one fall can be chance


class OutOfSample(NamedTuple):
    """Log-probabilities of the images of held-out folds. Rows that are not judged hold zeros."""

    own: np.ndarray  # float32 (n,): of the given class
    top: np.ndarray  # int32 (n, m): the most likely classes, the most likely first
    values: np.ndarray  # float32 (n, m): theirs
    sample: np.ndarray  # int64 (s,): some images, evenly spaced in each fold,
    logs: np.ndarray  # float32 (s, K): and their log-probabilities of all classes

    def loss(self, judged: np.ndarray) -> float:
        """The mean of -log P(given label) over the judged images, in nats."""
        return float(-self.own[judged].mean(dtype=np.float64))


class Representation:
    """One representation's softmax layers.

    Parameters
    ----------
    vectors : float32 (n, D).
    codes : int64 (n,), the given class, or -1: not judged.
    folds : int64 (n,), the fold, or -1.
    folder : where finished folds are saved and found; None: nowhere.
    step : called after each fold.
    """

    def __init__(
        self,
        vectors: Tensor,
        codes: np.ndarray,
        folds: np.ndarray,
        folder: Path | None = None,
        step: Callable[[], None] | None = None,
    ) -> None:
        self._given, self._codes, self._folds = vectors, torch.from_numpy(codes), folds
        self._folder, self._step = folder, step
        self._classes, self._count = int(codes.max()) + 1, int(folds.max()) + 1
        self._l2: float | None = None

    @property
    def l2(self) -> float:
        """The penalty with which most given labels of the first fold are predicted, on a path from strong to weak.

        Not the likelihood: where wrong labels come in clusters, weak penalties that learn them have the better
        likelihood, and their suspects are worse (CIFAR-100, small clusters: docs/LOG.md).
        """
        if self._l2 is None:
            path = None if self._folder is None else self._folder / "l2.json"
            saved = None if path is None else files.read_json(path)
            self._l2 = float(saved["l2"]) if isinstance(saved, dict) and "l2" in saved else self._choose()
            if path is not None and saved is None:
                files.write_json(path, {"l2": self._l2})
        return self._l2

    def round(self, name: str, kept: np.ndarray) -> OutOfSample:
        """Probabilities of all judged images, from layers fitted to the `kept` ones (bool (n,)) of the other folds."""
        n, top = len(self._folds), min(TOP, self._classes)
        own, classes, values = np.zeros(n, np.float32), np.zeros((n, top), np.int32), np.zeros((n, top), np.float32)
        sample, logs = [], []
        for fold in range(self._count):
            held = np.flatnonzero(self._folds == fold)
            path = None if self._folder is None else self._folder / f"{name}-{fold}.npz"
            result = None if path is None else _load(path, len(held), top)
            if result is None:
                train = np.flatnonzero((self._folds >= 0) & (self._folds != fold) & kept)
                result = self._predict(self._fit(train), held)
                if path is not None:
                    _save(path, result)
            own[held], classes[held], values[held] = result.own, result.top, result.values
            sample.append(result.sample)
            logs.append(result.logs)
            if self._step is not None:
                self._step()
        return OutOfSample(own, classes, values, np.concatenate(sample), np.concatenate(logs))

    @cached_property
    def _basis(self) -> Basis:
        return turn(self._given)

    def _fit(self, train: np.ndarray) -> Tensor:
        # Always from zeros: a resumed audit, which has no earlier weights, then finds the same to the last bit.
        return fit(self._basis, torch.from_numpy(train), self._codes, self._classes, self.l2)

    def _predict(self, weights: Tensor, held: np.ndarray) -> OutOfSample:
        classes = self._classes
        count = max(1, min(SAMPLE, SAMPLE_NUMBERS // classes, len(held)))
        sample = held[np.arange(count) * len(held) // count]
        parts: list[list[Tensor]] = []
        for rows in torch.from_numpy(held).split(max(1, CHUNK // max(weights.shape))):
            logs = self._basis.logits(rows, weights).log_softmax(1)
            values, top = logs.topk(min(TOP, classes), dim=1)
            parts.append([logs.gather(1, self._codes[rows, None])[:, 0], top.int(), values])
        own, likely, likely_values = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
        shown = self._basis.logits(torch.from_numpy(sample), weights).log_softmax(1).numpy()
        return OutOfSample(own, likely, likely_values, sample, shown)

    def _choose(self) -> float:
        held = torch.from_numpy(np.flatnonzero(self._folds == 0))
        train = torch.from_numpy(np.flatnonzero(self._folds > 0))
        best, chosen, l2, falls = -1, STRONGEST, STRONGEST, 0
        weights: Tensor | None = None
        while l2 >= WEAKEST:
            weights = fit(self._basis, train, self._codes, self._classes, l2, weights)
            agreed = 0
            for rows in held.split(max(1, CHUNK // max(weights.shape))):
                agreed += int((self._basis.logits(rows, weights).argmax(1) == self._codes[rows]).sum())
            if agreed > best:
                best, chosen, falls = agreed, l2, 0
            else:
                falls += agreed < best
            if falls == FALLS:
                break
            l2 /= WEAKER
        return chosen


def _save(path: Path, result: OutOfSample) -> None:
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **result._asdict())


def _load(path: Path, count: int, top: int) -> OutOfSample | None:
    """A saved fold; None if it is missing or broken."""
    try:
        with np.load(path, allow_pickle=False) as file:
            result = OutOfSample(*(file[field] for field in OutOfSample._fields))
    except (OSError, ValueError, KeyError, EOFError):
        return None
    return result if result.own.shape == (count,) and result.top.shape == (count, top) else None
