"""A second look at the claim `noise-uniform-negatives`, without `dml`: how negatives are drawn, on wrong labels.

    python benchmarks/second_looks/mnist_negatives.py <folder with MNIST's four gz files> --seeds 100 101 102 103 104

Two digits of MNIST from 0 to 5 side by side are a number; 28 numbers train with 30 images each, 8 are tested, whose
digits are of MNIST's test images, so no handwriting is shared. As in `noise-numbers-long`: batches of 12 numbers x 5,
triplets with a margin of 0.2, the mean over those with a loss, Adam at 0.004 with a rate that falls to 0. The negative
of each pair is drawn from all, or from those that violate the margin. What is kept is R@1 on wrong labels in percent of
that on a clean subset as large, each at its best step of five.
"""

import argparse
import statistics
from itertools import product
from pathlib import Path

import numpy as np
import torch
from mnist_noise import pick
from mnist_parity import read
from torch import nn

MARGIN, STEPS, CLASSES, PER_CLASS, IMAGES = 0.2, 1500, 12, 5, 30
LOOKS = (150, 300, 450, 900, 1500)


def numbers(part: tuple, chosen: np.ndarray, random: np.random.Generator) -> tuple[torch.Tensor, np.ndarray]:
    """Images (n, 1, 14, 28) of numbers to base 6, and the numbers."""
    images, digits = part
    labels = np.repeat(chosen, IMAGES)
    sides = [
        images[[random.choice(np.flatnonzero(digits == digit)) for digit in place]]
        for place in (labels // 6, labels % 6)
    ]
    return nn.functional.avg_pool2d(torch.cat(sides, dim=3), 2), labels


def network() -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in ((1, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 3, 128))


def loss_of(points: torch.Tensor, given: np.ndarray, violating: bool, random: np.random.Generator) -> torch.Tensor:
    unit = nn.functional.normalize(points)
    apart = (2 - 2 * unit @ unit.T).clamp_min(1e-9).sqrt()
    far, same = apart.detach().numpy(), given[:, None] == given
    anchor, positive = np.nonzero(same & ~np.eye(len(given), dtype=bool))
    allowed = ~same[anchor]
    if violating:
        allowed &= far[anchor] < far[anchor, positive][:, None] + MARGIN
    negative = pick(allowed, random)
    anchor, positive, negative = (rows[negative >= 0] for rows in (anchor, positive, negative))
    gaps = (apart[anchor, positive] - apart[anchor, negative] + MARGIN).clamp_min(0)
    return gaps.sum() / max(int((gaps > 0).sum()), 1)


def trial(seed: int, images: torch.Tensor, given: np.ndarray, violating: bool, test: tuple) -> float:
    """The best R@1 of the looks, in percent."""
    torch.manual_seed(seed)
    random, model, best = np.random.default_rng(seed), network(), 0.0
    members = {number: np.flatnonzero(given == number) for number in np.unique(given)}
    classes = [number for number, rows in members.items() if len(rows) >= PER_CLASS]
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(1, STEPS + 1):
        drawn = random.choice(classes, CLASSES, replace=False)
        rows = np.concatenate([random.choice(members[number], PER_CLASS, replace=False) for number in drawn])
        loss = loss_of(model(images[rows]), given[rows], violating, random)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step in LOOKS:
            model.eval()
            with torch.no_grad():
                unit = nn.functional.normalize(model(test[0]))
                near = (unit @ unit.T).fill_diagonal_(-2).argmax(1).numpy()
            best = max(best, 100 * float((test[1][near] == test[1]).mean()))
            model.train()
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102, 103, 104])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.2, 0.3])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    parts = [read(arguments.folder, part) for part in ("train", "t10k")]
    gains: list[float] = []
    for seed in arguments.seeds:
        random = np.random.default_rng(seed)
        order = random.permutation(36)
        (images, labels), test = (
            numbers(part, each, random) for part, each in zip(parts, (order[:28], order[28:]), strict=True)
        )
        kept = {}
        for rate, violating in product(arguments.rates, (False, True)):
            wrong = np.random.default_rng(seed).random(len(labels)) < rate
            others = np.random.default_rng(seed + 1).choice(order[:28], len(labels))
            noisy = trial(seed, images, np.where(wrong, others, labels), violating, test)
            kept[rate, violating] = 100 * noisy / trial(seed, images[~wrong], labels[~wrong], violating, test)
        shares = ", ".join(f"{r:.0%} {kept[r, False]:.1f} and {kept[r, True]:.1f}" for r in arguments.rates)
        gains.append(statistics.mean(kept[rate, True] - kept[rate, False] for rate in arguments.rates))
        print(f"seed {seed}: kept by all and by violating negatives: {shares}; {gains[-1]:+.1f}", flush=True)
    error = statistics.stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
    print(f"violating less all: {statistics.mean(gains):+.1f} (standard error {error:.1f})")


if __name__ == "__main__":
    main()
