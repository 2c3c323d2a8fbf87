"""What a filter costs, beside the loss and the miner of the same step and a whole step of ResNet-50.

    python benchmarks/filters.py [--out docs/benchmarks/filters.md]            # a few minutes on one core

Times are medians of CPU time, measured in turn, so that other work on the machine changes no ratio. A batch has 4
samples a class, or more if there are fewer classes. The last two columns are the filter's time as a share of that of
the loss with its miner, and of the whole step with ResNet-50 at 224 x 224 (`--images` images, forward and backward,
scaled).

A filter compares each sample with the mean of every class, a loss compares it with the others of its batch: the
filter's share of the loss grows with classes / batch, and is small beside the network's step.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torchvision

from dml import filters, losses, miners

CASES = [(128, 100, 128), (128, 11_318, 512), (512, 100, 128), (512, 11_318, 512)]  # batch, classes, dimensions
NAMES = ("prism", "prism_vmf")


def batch(size: int, classes: int, dimension: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings (size, dimension) around class centres, and labels (size,), 4 a class."""
    g = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(classes, generator=g)[: size // 4] if classes >= size // 4 else torch.arange(classes)
    labels = chosen.repeat(size // len(chosen) + 1)[:size]
    return torch.randn(size, dimension, generator=g), labels


def resnet_step(images: int) -> float:
    """Seconds that ResNet-50 takes for one image of a step, forward and backward."""
    model = torchvision.models.resnet50()
    pixels = torch.randn(images, 3, 224, 224)

    def step() -> None:
        model(pixels).sum().backward()
        model.zero_grad(set_to_none=True)

    return measure(step, 3) / images


def measure(call: Callable[[], object], repeats: int) -> float:
    """Median CPU seconds of one call, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=4, help="images of the step of ResNet-50 that is timed")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    per_image = resnet_step(arguments.images)
    lines = [
        "| batch | classes | D | filter | its ms | loss and miner, ms | ResNet-50, ms | of the loss | of the step |",
        "|---" * 9 + "|",
    ]
    for size, classes, dimension in CASES:
        loss = losses.build("margin", num_classes=classes)
        mine = miners.build(
            positives="all", negatives="distance_weighted", padded=True, max_per_class=max(4, size // classes + 1)
        )
        embeddings, labels = batch(size, classes, dimension, 0)
        leaf = embeddings.clone().requires_grad_()

        def step(leaf=leaf, labels=labels, loss=loss, mine=mine) -> None:
            loss(leaf, labels, mine(leaf.detach(), labels)).backward()

        of_loss = measure(step, arguments.repeats)
        for name in NAMES:
            keep = filters.build_for(name, {"rate": 0.2, "warm_up": 8}, num_classes=classes, embedding_size=dimension)
            for seed in range(16):
                keep(*batch(size, classes, dimension, seed))
            took = measure(lambda keep=keep, e=embeddings, y=labels: keep(e, y), arguments.repeats)
            network = per_image * size
            lines.append(
                f"| {size} | {classes:,} | {dimension} | `{name}` | {1e3 * took:.1f} | {1e3 * of_loss:.1f} "
                f"| {1e3 * network:,.0f} | {took / of_loss:.0%} | {took / (network + of_loss):.2%} |"
            )
    table = "\n".join(lines)
    print(table)
    if arguments.out is not None:
        where = f"{datetime.date.today()}, torch {torch.__version__}, 1 thread, load {os.getloadavg()[0]:.1f}."
        arguments.out.write_text(f"# What a filter costs\n\n{(__doc__ or '').strip()}\n\n{where}\n\n{table}\n")


if __name__ == "__main__":
    main()
