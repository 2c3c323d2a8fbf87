"""A second look at the claim `noise-pretrained`, without `dml`: a start on letters, against wrong labels.

    python benchmarks/second_looks/mnist_pretrained.py <MNIST's four gz files> <Omniglot's images_background.zip>

Two digits of MNIST side by side are a number; 60 numbers train with 30 images each, 40 are tested, whose digits are of
MNIST's test images, so no handwriting is shared. A network starts from random weights or from triplet loss on
Omniglot's letters (classes: alphabets). As in `noise-pretrained-longer`: batches of 12 classes x 5, triplet or marginal
loss (margin 0.2, beta 1.4), a random negative of those that violate the margin, 3,000 steps of Adam with a rate that
falls to 0, R@1 after the last. What is kept is R@1 on 30% wrong labels in percent of that on a clean subset as large,
each at the rate of `--rates` that is best for it over all seeds.
"""

import argparse
import statistics
from collections import defaultdict
from io import BytesIO
from itertools import product
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import torch
from mnist_noise import pick
from mnist_parity import read
from PIL import Image
from torch import nn

MARGIN, BETA, CLASSES, PER_CLASS, IMAGES, WRONG = 0.2, 1.4, 12, 5, 30, 0.3
LETTER_STEPS = 1500


def numbers(part: tuple, chosen: np.ndarray, random: np.random.Generator) -> tuple[torch.Tensor, np.ndarray]:
    """Images (n, 1, 14, 28) of numbers from 0 to 99, and the numbers."""
    images, digits = part
    labels = np.repeat(chosen, IMAGES)
    sides = [
        images[[random.choice(np.flatnonzero(digits == digit)) for digit in place]]
        for place in (labels // 10, labels % 10)
    ]
    return nn.functional.avg_pool2d(torch.cat(sides, dim=3), 2), labels


def letters(archive: Path) -> tuple[torch.Tensor, np.ndarray]:
    """Images (n, 1, 28, 28) of white letters on black, and the number of each alphabet."""
    images, alphabets = [], []
    with ZipFile(archive) as opened:
        for name in sorted(opened.namelist()):
            if name.endswith(".png"):
                image = Image.open(BytesIO(opened.read(name))).convert("L")
                images.append(1 - np.asarray(image.resize((28, 28), Image.Resampling.BOX), np.float32) / 255)
                alphabets.append(name.split("/")[1])
    return (torch.from_numpy(np.stack(images))[:, None] - 0.1307) / 0.3081, np.unique(alphabets, return_inverse=True)[1]


def network() -> nn.Module:
    layers: list[nn.Module] = []
    for before, after, stride in ((1, 16, 1), (16, 32, 2), (32, 64, 2)):
        layers += [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, 128))


def loss_of(points: torch.Tensor, given: np.ndarray, marginal: bool, random: np.random.Generator) -> torch.Tensor:
    unit = nn.functional.normalize(points)
    apart = (2 - 2 * unit @ unit.T).clamp_min(1e-9).sqrt()
    far, same = apart.detach().numpy(), given[:, None] == given
    anchor, positive = np.nonzero(same & ~np.eye(len(given), dtype=bool))
    negative = pick(~same[anchor] & (far[anchor] < far[anchor, positive][:, None] + MARGIN), random)
    anchor, positive, negative = (rows[negative >= 0] for rows in (anchor, positive, negative))
    near, other = apart[anchor, positive], apart[anchor, negative]
    if marginal:
        gaps = torch.cat([near - BETA + MARGIN, BETA - other + MARGIN]).clamp_min(0)
    else:
        gaps = (near - other + MARGIN).clamp_min(0)
    return gaps.sum() / max(int((gaps > 0).sum()), 1)


def trained(
    seed: int, images: torch.Tensor, given: np.ndarray, marginal: bool, rate: float, steps: int, start: dict | None
) -> nn.Module:
    torch.manual_seed(seed)
    random, model = np.random.default_rng(seed), network()
    if start is not None:
        model.load_state_dict(start)
    members = {number: np.flatnonzero(given == number) for number in np.unique(given)}
    classes = [number for number, rows in members.items() if len(rows) >= PER_CLASS]
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        drawn = random.choice(classes, CLASSES, replace=False)
        rows = np.concatenate([random.choice(members[number], PER_CLASS, replace=False) for number in drawn])
        loss = loss_of(model(images[rows]), given[rows], marginal, random)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def recall(model: nn.Module, images: torch.Tensor, labels: np.ndarray) -> float:
    unit = nn.functional.normalize(model(images))
    near = (unit @ unit.T).fill_diagonal_(-2).argmax(1).numpy()
    return 100 * float((labels[near] == labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    parser.add_argument("--rates", type=float, nargs="+", default=[1.5e-4, 1.5e-3, 1e-2])
    parser.add_argument("--steps", type=int, default=3000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    parts, alphabets = [read(arguments.folder, part, 10) for part in ("train", "t10k")], letters(arguments.archive)
    scores: dict[tuple, dict[int, float]] = defaultdict(dict)
    for seed in arguments.seeds:
        random = np.random.default_rng(seed)
        order = random.permutation(100)
        (images, labels), test = (
            numbers(part, each, random) for part, each in zip(parts, (order[:60], order[60:]), strict=True)
        )
        wrong = np.random.default_rng(seed).random(len(labels)) < WRONG
        given = np.where(wrong, np.random.default_rng(seed + 1).choice(order[:60], len(labels)), labels)
        start = trained(seed, *alphabets, False, 1e-3, LETTER_STEPS, None).state_dict()
        print(f"seed {seed}: the start as it is {recall(trained(seed, *test, False, 0.0, 0, start), *test):.1f}")
        for marginal, started, clean, rate in product((False, True), (False, True), (False, True), arguments.rates):
            data = (images[~wrong], labels[~wrong]) if clean else (images, given)
            model = trained(seed, *data, marginal, rate, arguments.steps, start if started else None)
            scores[marginal, started, clean, rate][seed] = recall(model, *test)
        print(f"seed {seed}: trained", flush=True)
    gains = {}
    for marginal in (False, True):
        kept = {}
        for started in (False, True):
            best = []
            for clean in (False, True):
                means = {r: statistics.mean(scores[marginal, started, clean, r].values()) for r in arguments.rates}
                rate = max(means, key=means.__getitem__)
                best.append(scores[marginal, started, clean, rate])
                name = f"{('triplet', 'marginal')[marginal]}, {('random', 'letters')[started]}"
                listed = ", ".join(f"{each:g} {mean:.1f}" for each, mean in means.items())
                print(f"{name}, {('30% wrong', 'clean subset')[clean]}: R@1 by rate {listed}")
            kept[started] = {seed: 100 * best[0][seed] / best[1][seed] for seed in arguments.seeds}
        gains[marginal] = {seed: kept[True][seed] - kept[False][seed] for seed in arguments.seeds}
        print(f"kept, from random and from letters: {kept[False]} {kept[True]}")
    for name, values in (
        ("triplet", [*gains[False].values()]),
        ("marginal", [*gains[True].values()]),
        ("marginal less triplet", [gains[True][seed] - gains[False][seed] for seed in arguments.seeds]),
    ):
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        print(f"a start keeps more by, {name}: {statistics.mean(values):+.1f} (standard error {error:.1f})")


if __name__ == "__main__":
    main()
