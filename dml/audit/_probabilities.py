"""Out-of-sample class probabilities of one representation, fold by fold, resumable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from dml import files
from dml.audit._result_files import BROKEN
from dml.audit._softmax import CHUNK, Basis, fit, turn

TOP = 16  # most likely classes that are kept for each image
SAMPLE = 2000  # images of a fold whose logits are kept,
SAMPLE_NUMBERS = 4_000_000  # or as many as fit this many numbers
STRONGEST = 1e-3  # penalties tried: from here down,
WEAKER = 3.0  # each so many times weaker than the last,
WEAKEST = 1e-7  # to here, until the first fold's labels are predicted less often
FALLS = 2  # times: one fall can be chance
SCALES = (1e-3, 1e2)  # of the logits, between which a calibrated representation's is looked for


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
    vectors : float32 (n, D), or one such array for each fold, with which the layer of that fold is fitted and predicts.
    codes : int64 (n,), the given class, or -1: not judged.
    folds : int64 (n,), the fold, or -1.
    folder : where finished folds are saved and found; None: nowhere.
    step : called after each fold.
    calibrated : multiply the logits by the one number with which the held-out labels are likeliest. Vectors that were
        learned from the labels of the images that fit a layer are far easier to separate there than on other images.
    """

    def __init__(
        self,
        vectors: Tensor | Sequence[Tensor],
        codes: np.ndarray,
        folds: np.ndarray,
        folder: Path | None = None,
        step: Callable[[], None] | None = None,
        calibrated: bool = False,
    ) -> None:
        self._classes, self._count = int(codes.max()) + 1, int(folds.max()) + 1
        self.vectors = [vectors] * self._count if isinstance(vectors, Tensor) else list(vectors)  # by fold
        self._codes, self._folds = torch.from_numpy(codes), folds
        self._folder, self._step, self._calibrated = folder, step, calibrated
        self._turned: tuple[Tensor, Basis] | None = None  # the latest, and what was turned
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
        scale: float | None = None if self._calibrated else 1.0
        for fold in range(self._count):
            held = np.flatnonzero(self._folds == fold)
            path = None if self._folder is None else self._folder / f"{name}-{fold}.npz"
            result = None if path is None else _load(path, len(held), top)
            if result is None:
                scale = self._scale(kept) if scale is None else scale
                result = self._predict(fold, self._fit(fold, kept) * scale, held)
                if path is not None:
                    _save(path, result)
            own[held], classes[held], values[held] = result.own, result.top, result.values
            sample.append(result.sample)
            logs.append(result.logs)
            if self._step is not None:
                self._step()
        return OutOfSample(own, classes, values, np.concatenate(sample), np.concatenate(logs))

    def _turn(self, fold: int) -> Basis:
        given = self.vectors[fold]
        if self._turned is None or self._turned[0] is not given:
            self._turned = given, turn(given)
        return self._turned[1]

    def _fit(self, fold: int, kept: np.ndarray) -> Tensor:
        # Always from zeros: a resumed audit, which has no earlier weights, then finds the same to the last bit.
        train, l2 = np.flatnonzero((self._folds >= 0) & (self._folds != fold) & kept), self.l2
        return fit(self._turn(fold), torch.from_numpy(train), self._codes, self._classes, l2)

    def _sample(self, held: np.ndarray) -> np.ndarray:
        """Some of the rows, evenly spaced."""
        count = max(1, min(SAMPLE, SAMPLE_NUMBERS // self._classes, len(held)))
        return held[np.arange(count) * len(held) // count]

    def _scale(self, kept: np.ndarray) -> float:
        """The scale of all logits with which the labels of the kept held-out images are likeliest."""
        parts, codes = [], []
        for fold in range(self._count):
            held = np.flatnonzero((self._folds == fold) & kept)
            if not len(held):
                continue
            sample = torch.from_numpy(self._sample(held))
            parts.append(self._turn(fold).logits(sample, self._fit(fold, kept)).double())
            codes.append(self._codes[sample])
        logits, own = torch.cat(parts), torch.cat(codes)[:, None]

        def loss(log: float) -> float:
            return -float((logits * np.exp(log)).log_softmax(1).gather(1, own).mean())

        return float(np.exp(minimize_scalar(loss, bounds=np.log(SCALES), method="bounded").x))

    def _predict(self, fold: int, weights: Tensor, held: np.ndarray) -> OutOfSample:
        basis, sample = self._turn(fold), self._sample(held)
        parts: list[list[Tensor]] = []
        for rows in torch.from_numpy(held).split(max(1, CHUNK // max(weights.shape))):
            logs = basis.logits(rows, weights).log_softmax(1)
            values, top = logs.topk(min(TOP, self._classes), dim=1)
            parts.append([logs.gather(1, self._codes[rows, None])[:, 0], top.int(), values])
        own, likely, likely_values = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
        shown = basis.logits(torch.from_numpy(sample), weights).log_softmax(1).numpy()
        return OutOfSample(own, likely, likely_values, sample, shown)

    def _choose(self) -> float:
        held = torch.from_numpy(np.flatnonzero(self._folds == 0))
        train = torch.from_numpy(np.flatnonzero(self._folds > 0))
        best, chosen, l2, falls = -1, STRONGEST, STRONGEST, 0
        weights: Tensor | None = None
        basis = self._turn(0)
        while l2 >= WEAKEST:
            weights = fit(basis, train, self._codes, self._classes, l2, weights)
            agreed = 0
            for rows in held.split(max(1, CHUNK // max(weights.shape))):
                agreed += int((basis.logits(rows, weights).argmax(1) == self._codes[rows]).sum())
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
    except BROKEN:
        return None
    return result if result.own.shape == (count,) and result.top.shape == (count, top) else None
