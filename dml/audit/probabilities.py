"""Out-of-sample class probabilities of one representation, fold by fold.

A softmax layer on vectors, fitted by L-BFGS in coordinates in which the curvature is about 1 in every direction: the
eigenbasis of the second moment, each axis scaled by (eigenvalue / K + l2)^(-1/2) after the bound of Böhning
("Multinomial logistic regression algorithm", 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

CHUNK = 1 << 20  # numbers in one temporary array
MEMORY = 8  # pairs of steps and gradient changes that L-BFGS keeps
ITERATIONS = 60
TOLERANCE = 1e-4  # stop when a step lowers the mean loss by less than this share of it
ARMIJO = 1e-4


class Basis(NamedTuple):
    """Vectors as given, and what makes them unit vectors with a constant column in the eigenbasis of their moment."""

    vectors: Tensor  # float32 (n, D)
    inverse: Tensor  # float32 (n, 1): 1 / length; 0 for a zero vector
    directions: Tensor  # float32 (D + 1, D + 1): the eigenvectors of the second moment, in columns,
    moments: Tensor  # float32 (D + 1,): and its eigenvalues

    def logits(self, rows: Tensor, weights: Tensor) -> Tensor:
        """(m, K) of some rows, int64 (m,), by weights (D + 1, K)."""
        return _logits(self.vectors[rows], self.inverse[rows], weights)


def _logits(part: Tensor, inverse: Tensor, weights: Tensor) -> Tensor:
    return (part @ weights[:-1]).mul_(inverse).add_(weights[-1])


def turn(vectors: Tensor) -> Basis:
    """The basis of vectors (n, D), which are divided by their length (a zero vector stays zero)."""
    size = vectors.shape[1] + 1
    moment, inverse = torch.zeros(size, size, dtype=torch.float64), torch.empty(len(vectors), 1)
    step = max(1, CHUNK // size)
    for start in range(0, len(vectors), step):
        part = vectors[start : start + step]
        length = torch.linalg.vector_norm(part, dim=1, keepdim=True)
        inverse[start : start + step] = torch.where(length > 0, 1 / length.clamp(min=1e-30), 0.0)
        unit = torch.cat([part * inverse[start : start + step], torch.ones(len(part), 1)], 1)
        moment += (unit.T @ unit).double()
    values, directions = torch.linalg.eigh(moment / len(vectors))
    return Basis(vectors, inverse, directions.float(), values.clamp(min=0).float())


def fit(basis: Basis, rows: Tensor, codes: Tensor, classes: int, l2: float, start: Tensor | None = None) -> Tensor:
    """Weights (D + 1, K), for `Basis.logits`, that minimise the mean cross-entropy of `rows` + l2 / 2 |weights|^2.

    The objective is strictly convex: `start` changes the result only within the tolerance.

    Parameters
    ----------
    rows : int64 (m,), the rows to fit.
    codes : int64 (n,), the class of every row, from 0.
    classes : K.
    start : weights to begin with; None: zeros.
    """
    scale = (basis.moments / classes + l2).rsqrt()[:, None]
    loss = _Loss(basis, rows, codes, classes, l2, scale)
    weights = torch.zeros(len(scale), classes) if start is None else (basis.directions.T @ start) / scale
    value, gradient = loss(weights)
    history: list[tuple[Tensor, Tensor, float]] = []
    for _ in range(ITERATIONS):
        direction = _direction(gradient, history)
        slope = float((direction * gradient).sum())
        if slope >= 0:  # only by rounding, at the minimum
            break
        length = 1.0
        while True:
            moved = weights + length * direction
            value_there, gradient_there = loss(moved)
            if value_there <= value + ARMIJO * length * slope or length < 1e-6:
                break
            excess = value_there - value - length * slope
            length *= min(0.5, max(0.1, -length * slope / (2 * excess))) if excess > 0 else 0.5
        if value_there > value:
            break
        step, change = moved - weights, gradient_there - gradient
        product = float((step * change).sum())
        if product > 1e-12:
            history = [*history[1 - MEMORY :], (step, change, product)]
        gained = value - value_there
        weights, value, gradient = moved, value_there, gradient_there
        if gained < TOLERANCE * max(value, 1e-3):
            break
    return loss.plain(weights)


class _Loss:
    """The objective and its gradient in scaled coordinates of the eigenbasis, chunk by chunk."""

    def __init__(self, basis: Basis, rows: Tensor, codes: Tensor, classes: int, l2: float, scale: Tensor) -> None:
        self._basis, self._rows, self._codes, self._scale = basis, rows, codes, scale
        self._penalty = l2 * scale.square()
        self._step = max(1, CHUNK // max(classes, basis.vectors.shape[1]))

    def plain(self, weights: Tensor) -> Tensor:
        """Scaled weights of the eigenbasis as weights of the unit vectors."""
        return self._basis.directions @ (weights * self._scale)

    def __call__(self, weights: Tensor) -> tuple[float, Tensor]:
        total, gradient = 0.0, torch.zeros_like(weights)
        plain = self.plain(weights)
        for rows in self._rows.split(self._step):
            part, inverse, codes = self._basis.vectors[rows], self._basis.inverse[rows], self._codes[rows, None]
            logits = _logits(part, inverse, plain)
            normaliser = torch.logsumexp(logits, 1, keepdim=True)
            total += float((normaliser - logits.gather(1, codes)).sum(dtype=torch.float64))
            error = logits.sub_(normaliser).exp_()
            error.scatter_add_(1, codes, torch.full_like(normaliser, -1.0))
            gradient[-1] += error.sum(0)
            gradient[:-1].addmm_(part.T, error.mul_(inverse))
        penalised = self._penalty * weights
        gradient = (self._basis.directions.T @ gradient).mul_(self._scale / len(self._rows)).add_(penalised)
        return total / len(self._rows) + 0.5 * float((penalised * weights).sum(dtype=torch.float64)), gradient


def _direction(gradient: Tensor, history: list[tuple[Tensor, Tensor, float]]) -> Tensor:
    """The L-BFGS direction (Nocedal & Wright, Numerical Optimization, algorithm 7.4)."""
    direction, shares = gradient.neg(), []
    for step, change, product in reversed(history):
        shares.append(float((step * direction).sum()) / product)
        direction.sub_(change, alpha=shares[-1])
    if history:
        _, change, product = history[-1]
        direction.mul_(product / float(change.square().sum()))
    for (step, change, product), share in zip(history, reversed(shares), strict=True):
        direction.add_(step, alpha=share - float((change * direction).sum()) / product)
    return direction


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

    given_logs: np.ndarray  # float32 (n,): of the given class
    top: np.ndarray  # int32 (n, m): the most likely classes, the most likely first
    values: np.ndarray  # float32 (n, m): theirs
    sample: np.ndarray  # int64 (s,): some images, evenly spaced in each fold,
    logs: np.ndarray  # float32 (s, K): and their log-probabilities of all classes

    def loss(self, judged: np.ndarray) -> float:
        """The mean of -log P(given label) over the judged images, in nats."""
        return float(-self.given_logs[judged].mean(dtype=np.float64))


class Representation:
    """One representation's softmax layers.

    Parameters
    ----------
    vectors : float32 (n, D), or one such array for each fold, with which the layer of that fold is fitted and predicts.
    codes : int64 (n,), the given class, or -1: not judged.
    folds : int64 (n,), the fold, or -1.
    calibrated : multiply the logits by the one number with which the held-out labels are likeliest. Vectors that were
        learned from the labels of the images that fit a layer are far easier to separate there than on other images.
    """

    def __init__(
        self, vectors: Tensor | Sequence[Tensor], codes: np.ndarray, folds: np.ndarray, calibrated: bool = False
    ) -> None:
        self._classes, self._count = int(codes.max()) + 1, int(folds.max()) + 1
        self.vectors = [vectors] * self._count if isinstance(vectors, Tensor) else list(vectors)  # by fold
        self._codes, self._folds = torch.from_numpy(codes), folds
        self._calibrated = calibrated
        self._turned: tuple[Tensor, Basis] | None = None  # the latest, and what was turned

    @cached_property
    def l2(self) -> float:
        """The penalty with which most given labels of the first fold are predicted, on a path from strong to weak.

        Not the likelihood: where wrong labels come in clusters, weak penalties that learn them have the better
        likelihood, and their suspects are worse (CIFAR-100, small clusters: docs/LOG.md).
        """
        held = torch.from_numpy(np.flatnonzero(self._folds == 0))
        train = torch.from_numpy(np.flatnonzero(self._folds > 0))
        most, best, l2, falls = -1, STRONGEST, STRONGEST, 0
        weights: Tensor | None = None
        basis = self._turn(0)
        while l2 >= WEAKEST and falls < FALLS:
            weights = fit(basis, train, self._codes, self._classes, l2, weights)
            agreed = 0
            for rows in held.split(max(1, CHUNK // max(weights.shape))):
                agreed += int((basis.logits(rows, weights).argmax(1) == self._codes[rows]).sum())
            falls = 0 if agreed > most else falls + (agreed < most)
            if agreed > most:
                most, best = agreed, l2
            l2 /= WEAKER
        return best

    def round(self, kept: np.ndarray) -> OutOfSample:
        """Probabilities of all judged images, from layers fitted to the `kept` ones (bool (n,)) of the other folds."""
        scale = self._scale(kept) if self._calibrated else 1.0
        folds = [np.flatnonzero(self._folds == fold) for fold in range(self._count)]
        results = [self._predict(fold, self._fit(fold, kept) * scale, held) for fold, held in enumerate(folds)]
        *parts, sample, logs = (np.concatenate(part) for part in zip(*results, strict=True))
        given_logs, top, values = (np.zeros((len(self._folds), *part.shape[1:]), part.dtype) for part in parts)
        for whole, part in zip((given_logs, top, values), parts, strict=True):
            whole[np.concatenate(folds)] = part
        return OutOfSample(given_logs, top, values, sample, logs)

    def _turn(self, fold: int) -> Basis:
        given = self.vectors[fold]
        if self._turned is None or self._turned[0] is not given:
            self._turned = given, turn(given)
        return self._turned[1]

    def _fit(self, fold: int, kept: np.ndarray) -> Tensor:
        train = torch.from_numpy(np.flatnonzero((self._folds >= 0) & (self._folds != fold) & kept))
        return fit(self._turn(fold), train, self._codes, self._classes, self.l2)

    def _sample(self, held: np.ndarray) -> np.ndarray:
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
        logits, codes_column = torch.cat(parts), torch.cat(codes)[:, None]

        def loss(log: float) -> float:
            return -float((logits * np.exp(log)).log_softmax(1).gather(1, codes_column).mean())

        return float(np.exp(minimize_scalar(loss, bounds=np.log(SCALES), method="bounded").x))

    def _predict(self, fold: int, weights: Tensor, held: np.ndarray) -> OutOfSample:
        basis, sample = self._turn(fold), self._sample(held)
        parts: list[list[Tensor]] = []
        for rows in torch.from_numpy(held).split(max(1, CHUNK // max(weights.shape))):
            logs = basis.logits(rows, weights).log_softmax(1)
            values, top = logs.topk(min(TOP, self._classes), dim=1)
            parts.append([logs.gather(1, self._codes[rows, None])[:, 0], top.int(), values])
        given_logs, likely, likely_values = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
        shown = basis.logits(torch.from_numpy(sample), weights).log_softmax(1).numpy()
        return OutOfSample(given_logs, likely, likely_values, sample, shown)
