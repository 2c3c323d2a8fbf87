"""Measures LoOp: its gain over the samples themselves, the errors of its paper's formulas, and its cost.

    python benchmarks/loop.py            # all tables, about six minutes on one core
    python benchmarks/loop.py gain       # one table: gain, formulas, time, step or points

The ends of random arcs are four independent uniform points on the sphere. In small arcs the second end is within about
0.6 of the first.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import normalize

from dml import models
from dml.data import sources
from dml.losses import build, geodesic

SEEDS = range(5)


def ends(size: int, pairs: int, seed: int, spread: float | None = None) -> list[torch.Tensor]:
    """The arcs' ends x1, x2, y1, y2: float64 unit vectors, each (pairs, size)."""
    g = torch.Generator().manual_seed(seed)
    x1, x2, y1, y2 = (normalize(torch.randn(pairs, size, generator=g, dtype=torch.float64), dim=1) for _ in range(4))
    if spread is not None:
        x2, y2 = normalize(x1 + spread * x2, dim=1), normalize(y1 + spread * y2, dim=1)
    return [x1, x2, y1, y2]


def gain(pairs: int = 150) -> None:
    """Distance of the nearest ends minus distance of the arcs: for every two pairs, and for the nearest of 63 pairs."""
    print("| D | arcs | gain, median | mean | 90th percentile | interior | nearest of 63, median |")
    print("|---|---|---|---|---|---|---|")
    for spread, name in ((None, "random"), (0.7, "small")):
        for size in (2, 3, 4, 8, 16, 32, 64, 128, 256, 512):
            gains, interior, nearest = [], [], []
            for seed in SEEDS:
                x1, x2, y1, y2 = ends(size, pairs, seed, spread)
                arcs = geodesic.arcs(x1, x2, y1, y2)
                corners = torch.stack([torch.cdist(x, y) for x in (x1, x2) for y in (y1, y2)]).amin(0)
                gains.append((corners - arcs.distance).flatten())
                interior.append((arcs.case == 0).double().mean().item())
                nearest.append((corners[:, :63].amin(1) - arcs.distance[:, :63].amin(1)).median().item())
            every = torch.cat(gains)
            print(
                f"| {size} | {name} | {every.median():.4f} | {every.mean():.4f} | {every.quantile(0.9):.4f} "
                f"| {statistics.median(interior):.0%} | {statistics.median(nearest):.4f} |"
            )


def by_formulas(points: list[torch.Tensor], pairing: str, interior_bound: str) -> np.ndarray:
    """The paper's distances -> (P,), infinite if no case is valid: section 3.2 and table 1, implemented as printed.

    Parameters
    ----------
    points : x1, x2, y1, y2, each (P, size).
    pairing : `printed` (alpha's + root with beta's - root), `same` (+ with +), `solved` (beta from alpha, stationary).
    interior_bound : `alpha0`, or `0` as in a public version of the authors' code (loss/optimum_pts_mx.py).
    """
    x1, x2, y1, y2 = (z.numpy() for z in points)
    alpha0, beta0 = np.arccos((x1 * x2).sum(1)), np.arccos((y1 * y2).sum(1))
    n2, n4 = x2 - (x1 * x2).sum(1)[:, None] * x1, y2 - (y1 * y2).sum(1)[:, None] * y1
    n2, n4 = n2 / np.linalg.norm(n2, axis=1)[:, None], n4 / np.linalg.norm(n4, axis=1)[:, None]
    a, b, c, d = (-(u * v).sum(1) for u, v in ((n2, n4), (x1, n4), (n2, y1), (x1, y1)))
    sin, cos, zero = np.sin, np.cos, np.zeros_like(a)

    def turned(tangent):
        angle = np.arctan(tangent)
        return np.where(angle < 0, angle + np.pi, angle)

    def f_alpha(s, t):
        return a * cos(s) * sin(t) - b * sin(s) * sin(t) + c * cos(s) * cos(t) - d * sin(s) * cos(t)

    def f_beta(s, t):
        return a * sin(s) * cos(t) + b * cos(s) * cos(t) - c * sin(s) * sin(t) - d * cos(s) * sin(t)

    def beta_of(s):
        return turned((a * sin(s) + b * cos(s)) / (c * sin(s) + d * cos(s)))

    def alpha_of(t):
        return turned((a * sin(t) + c * cos(t)) / (b * sin(t) + d * cos(t)))

    bound = alpha0 if interior_bound == "alpha0" else zero
    candidates = []
    big_a, big_b, p, q = a**2 - b**2 + c**2 - d**2, a**2 + b**2 - c**2 - d**2, a * b + c * d, a * c + b * d
    for sign in (1, -1):
        s = turned((big_a + sign * np.sqrt(big_a**2 + 4 * p**2)) / (2 * p))
        other = {"printed": -sign, "same": sign}.get(pairing)
        t = turned((big_b + other * np.sqrt(big_b**2 + 4 * q**2)) / (2 * q)) if other else beta_of(s)
        candidates.append((s, t, (s <= bound) & (t <= beta0)))
    for s, sign in ((zero, 1), (alpha0, -1)):
        t = beta_of(s)
        candidates.append((s, t, (t <= beta0) & (sign * f_alpha(s, t) >= 0)))
    for t, sign in ((zero, 1), (beta0, -1)):
        s = alpha_of(t)
        candidates.append((s, t, (s <= alpha0) & (sign * f_beta(s, t) >= 0)))
    for s, u in ((zero, 1), (alpha0, -1)):
        for t, v in ((zero, 1), (beta0, -1)):
            candidates.append((s, t, (u * f_alpha(s, t) >= 0) & (v * f_beta(s, t) >= 0)))
    best = np.full_like(a, np.inf)
    for s, t, valid in candidates:
        value = a * sin(s) * sin(t) + b * cos(s) * sin(t) + c * sin(s) * cos(t) + d * cos(s) * cos(t)
        best = np.minimum(best, np.where(valid, np.sqrt(np.maximum(2 + 2 * value, 0)), np.inf))
    return best


def formulas(pairs: int = 120) -> None:
    """How often the paper's formulas, as printed, accept no case or miss the minimum by more than 1e-6."""
    print("| D | arcs | beta of the interior case | bound on its alpha | no valid case | wrong | largest error |")
    print("|---|---|---|---|---|---|---|")
    for size in (3, 16, 128):
        for spread, name in ((None, "random"), (0.7, "small")):
            x1, x2, y1, y2 = ends(size, pairs, 0, spread)
            exact = geodesic.arcs(x1, x2, y1, y2).distance.flatten().numpy()
            points = [z.repeat_interleave(pairs, 0) for z in (x1, x2)] + [z.repeat(pairs, 1) for z in (y1, y2)]
            for pairing, bound in (("printed", "alpha0"), ("same", "alpha0"), ("solved", "alpha0"), ("solved", "0")):
                distances = by_formulas(points, pairing, bound)
                invalid, error = np.isinf(distances), np.abs(np.where(np.isinf(distances), exact, distances) - exact)
                print(
                    f"| {size} | {name} | {pairing} | {bound} | {invalid.mean():.1%} | {(error > 1e-6).mean():.1%} "
                    f"| {error.max():.3f} |"
                )


def timing(width: int = 128) -> None:
    """Forward and backward pass of `hphn_triplet`: milliseconds of CPU time on one thread, median of 20 runs."""
    torch.set_num_threads(1)
    print("| N | synthesis | ms | times `none` |")
    print("|---|---|---|---|")
    for count in (32, 128, 512, 1024):
        x, y = torch.randn(count, width).requires_grad_(), torch.arange(count) // 4
        losses = {
            name: build("hphn_triplet", synthesis=name)
            for name in ("none", "loop", "loop_linear", "embedding_expansion")
        }
        taken: dict[str, list[float]] = {name: [] for name in losses}
        for _ in range(23):
            for name, loss in losses.items():
                start = time.process_time()
                loss(x, y).backward()
                taken[name].append(1e3 * (time.process_time() - start))
        medians = {name: statistics.median(values[3:]) for name, values in taken.items()}
        for name, value in medians.items():
            print(f"| {count} | {name} | {value:.2f} | {value / medians['none']:.1f} |")


def main() -> None:
    tables = {"gain": gain, "formulas": formulas, "time": timing, "step": step, "points": synthetic}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="table", help="gain, formulas, time, step or points; default: all")
    chosen = parser.parse_args().tables or list(tables)
    if unknown := set(chosen) - set(tables):
        parser.error(f"unknown table {', '.join(unknown)}; choices: {', '.join(tables)}")
    for name in chosen:
        print(f"\n### {tables[name].__doc__}\n")
        tables[name]()


def step(repeats: int = 9) -> None:
    """A training step (network, loss, backward) with and without LoOp: milliseconds of CPU time, medians."""
    torch.set_num_threads(1)
    network = models.build("small_conv", embedding_size=128, channels=1, image_size=28).train()
    print("| N | step, ms | with LoOp | LoOp adds |")
    print("|---|---|---|---|")
    for count in (32, 128, 512):
        images, y = torch.randn(count, 1, 28, 28), torch.arange(count) // 4
        losses = {name: build("hphn_triplet", synthesis=name) for name in ("none", "loop")}
        taken: dict[str, list[float]] = {name: [] for name in losses}
        for _ in range(repeats + 2):
            for name, loss in losses.items():
                start = time.process_time()
                loss(network(images), y).backward()
                taken[name].append(1e3 * (time.process_time() - start))
        plain, loop = (statistics.median(taken[name][2:]) for name in losses)
        print(f"| {count} | {plain:.1f} | {loop:.1f} | {loop / plain - 1:+.1%} |")


def synthetic(steps: int = 800, seeds: range = range(8)) -> None:
    """Numbers, triplet with LoOp: of the nearest points of two pairs, how many lie nearest to their own number.

    The nearest training image without the ends of both pairs. Beside it, the same of the images themselves, and of the
    mean of a pair's ends. A row is a network's mean over seeds; the last column is the standard error of the first.
    """
    torch.set_num_threads(1)
    source = sources.build("numbers", size=10, seed=11)
    records = [record for record in source.images(Path()) if (record["fine"] // 10 + 2 * (record["fine"] % 10)) % 5 < 3]
    labels = torch.tensor([record["fine"] for record in records])
    images = torch.from_numpy(np.stack([record["image"] for record in records])).float().div(255)
    images = images.reshape(len(records), 1, *images.shape[1:3])
    evaluated = (0, 100, 200, 400, steps)
    shares = np.array([_shares(images, labels, evaluated, seed) for seed in seeds]) * 100
    print("| steps | synthetic points | means of pairs | images | points behind images | standard error |")
    print("|---|---|---|---|---|---|")
    for step_, (points, middles, samples) in zip(evaluated, shares.mean(0), strict=True):
        behind = shares[:, evaluated.index(step_), 2] - shares[:, evaluated.index(step_), 0]
        error = behind.std(ddof=1) / len(behind) ** 0.5
        print(f"| {step_} | {points:.1f} | {middles:.1f} | {samples:.1f} | {behind.mean():.1f} | {error:.1f} |")


def _shares(images: torch.Tensor, labels: torch.Tensor, evaluated: Sequence[int], seed: int) -> list[list[float]]:
    """Shares of own neighbours of points, means and images, at some steps of one training."""
    torch.manual_seed(seed)
    draws = np.random.default_rng(seed)
    network = models.build("small_conv", embedding_size=64, channels=1, width=8, grid=2)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.004)
    loss = build("triplet", margin=0.2, reduction="mean", synthesis="loop")
    rows = [np.flatnonzero(labels.numpy() == number) for number in labels.unique().tolist()]
    shares = []
    for step_ in range(evaluated[-1] + 1):
        if step_ in evaluated:
            with torch.no_grad():
                network.eval()
                shares.append(_class_shares(normalize(network(images)).double(), labels, draws, rows))
                network.train()
        numbers = draws.choice(len(rows), 8, replace=False)
        batch = np.concatenate([draws.choice(rows[number], 4, replace=False) for number in numbers])
        optimizer.zero_grad()
        loss(network(images[batch]), labels[batch]).backward()
        optimizer.step()
    return shares


def _class_shares(
    z: torch.Tensor, labels: torch.Tensor, draws: np.random.Generator, rows: list[np.ndarray]
) -> list[float]:
    """One pair of each class against the pairs of all others, as in a batch."""
    pairs = torch.from_numpy(np.stack([draws.choice(members, 2, replace=False) for members in rows]))
    x1, x2 = z[pairs[:, 0]], z[pairs[:, 1]]
    arcs = geodesic.arcs(x1, x2, x1, x2)
    angle = (x1 * x2).sum(1).clamp(-1, 1).arccos()[:, None]
    points = (angle - arcs.first).sin()[..., None] * x1[:, None] + arcs.first.sin()[..., None] * x2[:, None]
    means = normalize(x1 + x2)

    def share(queries: torch.Tensor, classes: torch.Tensor, without: torch.Tensor) -> float:
        similar = (queries @ z.T).scatter(1, without, -2.0)
        return (labels[similar.argmax(1)] == classes).double().mean().item()

    i, j = (~torch.eye(len(pairs), dtype=torch.bool)).nonzero().T
    real = torch.arange(len(z))[:, None]
    return [
        share(normalize(points[i, j]), labels[pairs[i, 0]], torch.cat([pairs[i], pairs[j]], 1)),
        share(means, labels[pairs[:, 0]], pairs),
        share(z, labels, real),
    ]


if __name__ == "__main__":
    main()
