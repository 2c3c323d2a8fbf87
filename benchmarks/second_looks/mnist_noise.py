"""A second look at the claims `eps-noise-collapse`, without `dml`: digits under wrong labels of even and odd.

    python benchmarks/second_looks/mnist_noise.py <folder with MNIST's four gz files> --seeds 100 101 102 [--small]

Other seeds than the study's, another small network, and only numpy and torch. A network is trained on even against odd
with the digits 0 to 5 and a share of these labels wrong: 1,500 batches of 2 x 32 images, Adam at 0.001, unit
embeddings of 128 dimensions, Euclidean distances, a margin of 0.2, and for each anchor a random positive or the nearest
one, and a random negative of those that violate the margin. R@1 of the digits is of MNIST's test images.

It also counts, over the last 100 batches, how often the positive of a wrongly labelled image is wrongly labelled too.
"""

import argparse
import statistics
from itertools import product
from pathlib import Path

import numpy as np
import torch
from mnist_parity import read
from torch import nn

MARGIN, STEPS, PER_CLASS, LAST = 0.2, 1500, 32, 100


def network(small: bool) -> nn.Module:
    """Three convolutions and a linear layer; the small one averages over places, as the study's does."""
    layers: list[nn.Module] = []
    widths = ((1, 16), (16, 32), (32, 64)) if small else ((1, 32), (32, 64), (64, 64))
    for before, after in widths:
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.AdaptiveAvgPool2d(1)] if small else []
    return nn.Sequential(*layers, *head, nn.Flatten(), nn.Linear(64 if small else 64 * 9, 128))


def pick(allowed: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """For each row (N, N) one of the allowed columns, or -1."""
    chosen = np.where(allowed, random.random(allowed.shape), -1.0).argmax(1)
    return np.where(allowed.any(1), chosen, -1)


def step(points: torch.Tensor, given: np.ndarray, easy: bool, random: np.random.Generator) -> tuple:
    """The loss of a batch, and each anchor's positive."""
    unit = nn.functional.normalize(points)
    apart = (2 - 2 * unit @ unit.T).clamp_min(1e-9).sqrt()
    far, same = apart.detach().numpy(), given[:, None] == given
    mates = same & ~np.eye(len(given), dtype=bool)
    positive = np.where(mates, far, np.inf).argmin(1) if easy else pick(mates, random)
    to_mate = far[np.arange(len(given)), positive]
    negative = pick(~same & (far < to_mate[:, None] + MARGIN), random)
    rows = np.flatnonzero(negative >= 0)
    gaps = apart[rows, positive[rows]] - apart[rows, negative[rows]] + MARGIN
    return gaps.sum() / max(len(rows), 1), positive


def trial(seed: int, rate: float, easy: bool, small: bool, train: tuple, test: tuple) -> tuple[float, float]:
    """R@1 of the digits, and the share of wrongly labelled positives of wrongly labelled images, both in percent."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    images, digits = train
    wrong = random.random(len(digits)) < rate
    given = np.where(wrong, 1 - digits % 2, digits % 2)
    members = [np.flatnonzero(given == parity) for parity in range(2)]
    model, both, all_wrong = network(small), 0, 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for number in range(STEPS):
        rows = np.concatenate([random.choice(of_parity, PER_CLASS, replace=False) for of_parity in members])
        loss, positive = step(model(images[rows]), given[rows], easy, random)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number >= STEPS - LAST:
            both += int((wrong[rows] & wrong[rows][positive]).sum())
            all_wrong += int(wrong[rows].sum())
    model.eval()
    with torch.no_grad():
        unit = nn.functional.normalize(torch.cat([model(part) for part in test[0].split(500)]))
        near = (unit @ unit.T).fill_diagonal_(-2).argmax(1).numpy()
    return 100 * float((test[1][near] == test[1]).mean()), 100 * both / max(all_wrong, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.0, 0.2, 0.4])
    parser.add_argument("--small", action="store_true", help="a network of the study's size")
    arguments = parser.parse_args()
    train, test = read(arguments.folder, "train"), read(arguments.folder, "t10k")
    for rate in arguments.rates:
        trials = {
            (seed, easy): trial(seed, rate, easy, arguments.small, train, test)
            for seed, easy in product(arguments.seeds, (False, True))
        }
        for easy, name in ((False, "random"), (True, "nearest")):
            scores, shares = zip(*(trials[seed, easy] for seed in arguments.seeds), strict=True)
            line = f"{rate:.0%} wrong, {name} positives: R@1 of digits {', '.join(f'{score:.1f}' for score in scores)}"
            print(line + (f"; positives of wrong images wrong {statistics.mean(shares):.0f}%" if rate else ""))
        gains = [trials[seed, True][0] - trials[seed, False][0] for seed in arguments.seeds]
        spread = statistics.stdev(gains) if len(gains) > 1 else float("nan")
        print(f"{rate:.0%} wrong: nearest less random {statistics.mean(gains):+.1f} (sd {spread:.1f})", flush=True)


if __name__ == "__main__":
    main()
