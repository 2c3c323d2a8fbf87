"""A toy for LoOp: classes of points in the plane, and a small network that embeds them on a sphere.

The supplement's toy (section 5) moves four samples by one gradient step; `dml.theory.pair_steps` repeats it. Here
whole classes are trained. A class is two clusters of the plane, so that the network must fold the plane. All arms see the same batches, pairs and initial weights, and differ only in the distance
between two pairs (x1, x2) and (y1, y2) of different classes in `[d(x1, x2) - distance + margin]_+`:

    one end      d(x1, y1), as in the paper's baseline
    four ends    the least of the four distances between ends: hard negative mining, which the paper does not compare
    LoOp         the least distance between the arcs
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from dml.losses import geodesic

ARMS = ("untrained", "one end", "four ends", "LoOp")
CLASSES, PER_CLASS = 12, 24  # every other class is trained
SPREAD, GAP = 0.11, 0.25  # the standard deviation of a cluster, and the least distance of two centres in [-1, 1]^2
STEPS, PAIRS, MARGIN, RATE = 70, 3, 0.3, 0.02  # pairs of each class in a step; Adam's learning rate


class Run(NamedTuple):
    """One arm with one seed."""

    arm: str
    seed: int
    seen: float  # R-precision of new points of the training classes: the share of own among the 23 nearest
    unseen: float  # R-precision of classes that were not trained
    inside: float  # the share of LoOp's points whose nearest sample, without the four ends, is of their own class
    gain: float  # mean distance of the nearest ends less that of the arcs, after training
    embeddings: np.ndarray  # float32 (n, 3), of the unseen classes
    labels: np.ndarray  # int64 (n,)


class Plane(NamedTuple):
    """Points of the plane."""

    points: Tensor  # float32 (n, 2)
    labels: Tensor  # int64 (n,)


@cache
def runs(seeds: int = 4) -> tuple[Run, ...]:
    """Every arm with every seed. The same numbers every time."""
    return tuple(_run(arm, seed) for arm in ARMS for seed in range(seeds))


def _run(arm: str, seed: int) -> Run:
    g = torch.Generator().manual_seed(seed)
    centres = _centres(g)
    train, fresh, unseen = (
        _plane(centres, classes, g) for classes in (range(0, CLASSES, 2), range(0, CLASSES, 2), range(1, CLASSES, 2))
    )
    net = _network(g)
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    for _ in range(STEPS if arm != "untrained" else 0):
        first, second = _pairs(train, g)
        x1, x2 = (normalize(net(train.points[rows]), dim=1) for rows in (first, second))
        other = train.labels[first][:, None] != train.labels[first]
        losses = torch.relu((x1 - x2).norm(dim=1)[:, None] - DISTANCES[arm](x1, x2) + MARGIN)
        optimizer.zero_grad()
        losses[other].mean().backward()
        optimizer.step()
    with torch.no_grad():
        embedded = [normalize(net(plane.points), dim=1) for plane in (train, fresh, unseen)]
        inside, gain = _points(embedded[0], train, g)
        seen, new = (_r_precision(x, plane.labels) for x, plane in zip(embedded[1:], (fresh, unseen), strict=True))
    return Run(arm, seed, seen, new, inside, gain, embedded[2].numpy(), unseen.labels.numpy())


def _one_end(x1: Tensor, x2: Tensor) -> Tensor:
    return torch.cdist(x1, x1)


def _four_ends(x1: Tensor, x2: Tensor) -> Tensor:
    ends = torch.cat((x1, x2))
    return torch.cdist(ends, ends).view(2, len(x1), 2, len(x1)).amin((0, 2))


def _loop(x1: Tensor, x2: Tensor) -> Tensor:
    return geodesic.arcs(x1, x2, x1, x2).distance


DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"one end": _one_end, "four ends": _four_ends, "LoOp": _loop}


def _centres(g: torch.Generator) -> Tensor:
    """Two centres for each class, (2 CLASSES, 2)."""
    found: list[Tensor] = []
    while len(found) < 2 * CLASSES:
        tried = 2 * torch.rand(2, generator=g) - 1
        if all((tried - old).norm() > GAP for old in found):
            found.append(tried)
    return torch.stack(found)


def _plane(centres: Tensor, classes: range, g: torch.Generator) -> Plane:
    labels = torch.tensor(list(classes)).repeat_interleave(PER_CLASS)
    cluster = 2 * labels + torch.arange(len(labels)) % 2
    return Plane(centres[cluster] + SPREAD * torch.randn(len(labels), 2, generator=g), labels)


def _network(g: torch.Generator) -> nn.Sequential:
    net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
    for parameter in net.parameters():
        fan = parameter.shape[-1] if parameter.dim() == 2 else 1
        torch.nn.init.normal_(parameter, std=fan**-0.5 if parameter.dim() == 2 else 0.1, generator=g)
    return net


def _pairs(plane: Plane, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """PAIRS disjoint pairs of each class, as rows."""
    order = torch.rand(len(plane.labels), generator=g).view(-1, PER_CLASS).argsort(dim=1)
    rows = order[:, : 2 * PAIRS] + PER_CLASS * torch.arange(len(order))[:, None]
    return rows[:, ::2].flatten(), rows[:, 1::2].flatten()


def _r_precision(x: Tensor, labels: Tensor) -> float:
    distances = torch.cdist(x, x).fill_diagonal_(torch.inf)
    nearest = distances.topk(PER_CLASS - 1, largest=False).indices
    return float((labels[nearest] == labels[:, None]).double().mean())


def _points(x: Tensor, plane: Plane, g: torch.Generator) -> tuple[float, float]:
    """The share of LoOp's points near their own class (without the four ends), and LoOp's gain over the ends."""
    first, second = _pairs(plane, g)
    x1, x2, labels = x[first], x[second], plane.labels[first]
    found = geodesic.arcs(x1, x2, x1, x2)
    cross = labels[:, None] != labels
    gain = float((_four_ends(x1, x2) - found.distance)[cross].mean())
    full = torch.acos((x1 * x2).sum(1).clamp(-1, 1))[:, None]
    sine = full.sin().clamp(min=1e-6)
    u1, u2 = (full - found.first).sin() / sine, found.first.sin() / sine
    p1 = normalize(u1[..., None] * x1[:, None] + u2[..., None] * x2[:, None], dim=2)[cross]
    i, j = cross.nonzero().T
    distances = torch.cdist(p1, x)
    for ends in (first[i], second[i], first[j], second[j]):
        distances[torch.arange(len(p1)), ends] = torch.inf
    return float((plane.labels[distances.argmin(1)] == labels[i]).double().mean()), gain
