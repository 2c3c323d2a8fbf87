"""A toy for LoOp: classes of points in the plane, and a small network that embeds them on a sphere.

The supplement's toy (section 5) moves four samples by one gradient step; `pair_steps` repeats it. Here
whole classes are trained. A class is two clusters of the plane, so that the network must fold the plane. All arms see
the same batches, pairs and initial weights, and differ only in the distance between two pairs (x1, x2) and (y1, y2) of
different classes in `[d(x1, x2) - distance + margin]_+`, a mean over the positive terms:

    one end      d(x1, y1), as in the paper's baseline
    four ends    the least of the four distances between ends: hard negative mining, which the paper does not compare
    LoOp         the least distance between the arcs

All seeds are trained at once, as one network whose weights have a leading axis: it takes a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dml.losses import geodesic

ARMS = ("untrained", "one end", "four ends", "LoOp")
CLASSES, PER_CLASS = 12, 24  # every other class is trained
SPREAD, GAP = 0.11, 0.25  # the standard deviation of a cluster, and the least distance of two centres in [-1, 1]^2
STEPS, PAIRS, MARGIN, RATE = 120, 3, 0.3, 0.01  # pairs of each class in a step; Adam's learning rate
WIDTHS = (2, 32, 32, 3)


class Run(NamedTuple):
    """One arm with one seed."""

    arm: str
    seed: int
    seen: float  # R-precision of new points of the training classes: the share of own among the 23 nearest
    unseen: float  # R-precision of classes that were not trained
    inside: float  # the share of LoOp's points whose nearest sample, without the four ends, is of their own class
    gain: float  # mean distance of the nearest ends less that of the arcs, after training
    embeddings: np.ndarray  # float32 (n, 3), of new points of the training classes
    labels: np.ndarray  # int64 (n,)


@cache
def runs(seeds: int = 8) -> tuple[Run, ...]:
    """Every arm with every seed. The same numbers every time."""
    return tuple(run for arm in ARMS for run in _runs(arm, seeds))


def _runs(arm: str, seeds: int) -> list[Run]:
    g = torch.Generator().manual_seed(0)
    centres = torch.stack([_centres(g) for _ in range(seeds)])
    trained, others = (torch.arange(k, CLASSES, 2).repeat_interleave(PER_CLASS) for k in (0, 1))
    train, fresh, unseen = (_plane(centres, labels, g) for labels in (trained, trained, others))
    weights = [
        torch.randn(seeds, a, b, generator=g).mul_(2.0 if a == 2 else a**-0.5).requires_grad_()
        for a, b in pairwise(WIDTHS)
    ]
    biases = [torch.randn(seeds, 1, b, generator=g).requires_grad_() for b in WIDTHS[1:]]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in weights + biases]
    for step in range(STEPS if arm != "untrained" else 0):
        first, second = _pairs(g)
        x1, x2 = (_embed(weights, biases, train[:, rows]) for rows in (first, second))
        other = trained[first][:, None] != trained[first]
        gaps = (x1 - x2).norm(dim=2)[:, :, None] - DISTANCES[arm](x1, x2) + MARGIN
        losses = torch.relu(gaps) * other
        loss = (losses.sum((1, 2)) / (losses.detach() > 0).sum((1, 2)).clamp(min=1)).sum()
        _adam(weights + biases, torch.autograd.grad(loss, weights + biases), moments, step + 1)
    with torch.no_grad():
        x, new, far = (_embed(weights, biases, points) for points in (train, fresh, unseen))
        return [
            Run(
                arm,
                seed,
                _r_precision(new[seed], trained),
                _r_precision(far[seed], others),
                *_points(x[seed], trained, *_pairs(g)),
                new[seed].numpy(),
                trained.numpy(),
            )
            for seed in range(seeds)
        ]


@torch.no_grad()
def _adam(parameters: list[Tensor], slopes: Sequence[Tensor], moments: list[tuple[Tensor, Tensor]], step: int) -> None:
    """One step of Adam; importing `torch.optim` takes longer than all of the training."""
    for parameter, slope, (first, second) in zip(parameters, slopes, moments, strict=True):
        first.lerp_(slope, 0.1)
        second.lerp_(slope.square(), 0.001)
        size = (second / (1 - 0.999**step)).sqrt_().add_(1e-8)
        parameter.sub_(first / size, alpha=RATE / (1 - 0.9**step))


def _embed(weights: list[Tensor], biases: list[Tensor], points: Tensor) -> Tensor:
    """Points (S, n, 2) -> unit vectors (S, n, 3)."""
    for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        points = torch.baddbmm(bias, points, weight)
        points = torch.tanh(points) if place < len(weights) - 1 else points
    return normalize(points, dim=2)


def _one_end(x1: Tensor, x2: Tensor) -> Tensor:
    return torch.cdist(x1, x1)


def _four_ends(x1: Tensor, x2: Tensor) -> Tensor:
    return torch.stack([torch.cdist(x, y) for x in (x1, x2) for y in (x1, x2)]).amin(0)


def _loop(x1: Tensor, x2: Tensor) -> Tensor:
    """All seeds' pairs at once: (S, P, 3) twice -> the blocks (S, P, P) of one matrix."""
    seeds, pairs = x1.shape[:2]
    every = geodesic.arcs(*(x.flatten(0, 1) for x in (x1, x2, x1, x2))).distance.view(seeds, pairs, seeds, pairs)
    return every.diagonal(dim1=0, dim2=2).movedim(2, 0)


DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"one end": _one_end, "four ends": _four_ends, "LoOp": _loop}


def _centres(g: torch.Generator) -> Tensor:
    """Two centres for each class, (2 CLASSES, 2)."""
    centres: list[Tensor] = []
    while len(centres) < 2 * CLASSES:
        tried = 2 * torch.rand(2, generator=g) - 1
        if all((tried - old).norm() > GAP for old in centres):
            centres.append(tried)
    return torch.stack(centres)


def _plane(centres: Tensor, labels: Tensor, g: torch.Generator) -> Tensor:
    """Points (S, n, 2) of classes (n,)."""
    cluster = 2 * labels + torch.arange(len(labels)) % 2
    return centres[:, cluster] + SPREAD * torch.randn(len(centres), len(labels), 2, generator=g)


def _pairs(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """PAIRS disjoint pairs of each trained class, as rows."""
    order = torch.rand(CLASSES // 2, PER_CLASS, generator=g).argsort(dim=1)
    rows = order[:, : 2 * PAIRS] + PER_CLASS * torch.arange(len(order))[:, None]
    return rows[:, ::2].flatten(), rows[:, 1::2].flatten()


def _r_precision(x: Tensor, labels: Tensor) -> float:
    distances = torch.cdist(x, x).fill_diagonal_(torch.inf)
    nearest = distances.topk(PER_CLASS - 1, largest=False).indices
    return float((labels[nearest] == labels[:, None]).double().mean())


def _points(x: Tensor, labels: Tensor, first: Tensor, second: Tensor) -> tuple[float, float]:
    """The share of LoOp's points near their own class (without the four ends), and LoOp's gain over the ends."""
    x1, x2, classes = x[first], x[second], labels[first]
    arcs = geodesic.arcs(x1, x2, x1, x2)
    cross = classes[:, None] != classes
    gain = float((_four_ends(x1, x2) - arcs.distance)[cross].mean())
    full = torch.acos((x1 * x2).sum(1).clamp(-1, 1))[:, None]
    sine = full.sin().clamp(min=1e-6)
    u1, u2 = (full - arcs.first).sin() / sine, arcs.first.sin() / sine
    p1 = normalize(u1[..., None] * x1[:, None] + u2[..., None] * x2[:, None], dim=2)[cross]
    i, j = cross.nonzero().T
    distances = torch.cdist(p1, x)
    for ends in (first[i], second[i], first[j], second[j]):
        distances[torch.arange(len(p1)), ends] = torch.inf
    return float((labels[distances.argmin(1)] == classes[i]).double().mean()), gain
