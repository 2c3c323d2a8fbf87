"""One training step of a deep network: the cost of the loss, the miner and the data in addition to the network.

    python benchmarks/step.py --out docs/benchmarks/step.md               # ResNet-50, 256 x 256, 128 images, on a GPU
    python benchmarks/step.py --device cpu --backbone resnet18 --batch 16 --side 64 --steps 2     # on any machine

Three loops take turns. Images per second are medians over the rounds, from the first launch until the device is done.

- `bare`: the network's forward and backward pass and the optimiser's step, on synthetic images on the device.
- `loss`: the same with margin loss on easy positives and distance-weighted negatives. Goal: 95% of `bare`.
- `data`: the same with images from a mapped uint8 array, through the batch loader and random crops and flips. Goal: as
  many images as `loss` (the network never waits for data).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from dml import losses, miners, models
from dml.data import augment, batches
from dml.training.batch_loader import BatchLoader

CROP, PER_CLASS, CLASSES, IMAGES = 224, 4, 100, 6400


def synthetic(arguments: argparse.Namespace) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The same batch on the device, repeated."""
    side = min(CROP, arguments.side)
    images = torch.randn(arguments.batch, 3, side, side, device=arguments.device)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.arange(arguments.batch // PER_CLASS, device=arguments.device).repeat_interleave(PER_CLASS)
    while True:
        yield images, labels


def packed(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches as training loads them, from images on disk."""
    side = arguments.side
    path = folder / "images.npy"
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(IMAGES, side, side, 3))
    for start in range(0, IMAGES, 256):
        array[start : start + 256] = np.random.default_rng(start).integers(0, 256, array[start : start + 256].shape)
    array.flush()
    observed = np.arange(IMAGES) % CLASSES
    sampler = batches.build("balanced", labels=observed, classes=arguments.batch // PER_CLASS, per_class=PER_CLASS)
    loader = BatchLoader(np.load(path, mmap_mode="r"), np.arange(IMAGES), observed, sampler, arguments.device)
    name = "crop224" if side > CROP else "none"
    change = augment.build(name, channels=3, normalization="imagenet")
    generator = torch.Generator(arguments.device).manual_seed(0)
    while True:
        images, labels, _ = loader.next()
        images = change(images, training=True, generator=generator)
        yield images.contiguous(memory_format=torch.channels_last), labels


def loop(
    arguments: argparse.Namespace, source: Iterator[tuple[torch.Tensor, torch.Tensor]], with_loss: bool
) -> Callable[[], float]:
    """A function that trains for `steps` steps and returns images per second."""
    model = models.build("torchvision", embedding_size=128, channels=3, name=arguments.backbone, pretrained=False)
    model = model.to(arguments.device, memory_format=torch.channels_last)
    loss = losses.build("margin", beta_per="all").to(arguments.device)
    mine = miners.build(positives="easy", negatives="distance_weighted", padded=True, max_per_class=PER_CLASS)
    optimizer = torch.optim.Adam([*model.parameters(), *loss.parameters()])
    half = torch.autocast(arguments.device, torch.bfloat16, enabled=arguments.precision == "bfloat16")

    def run() -> float:
        wait()
        start = time.perf_counter()
        for _ in range(arguments.steps):
            images, labels = next(source)
            with half:
                embeddings = model(images)
            embeddings = embeddings.float()
            value = loss(embeddings, labels, mine(embeddings.detach(), labels)) if with_loss else embeddings.sum()
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            optimizer.step()
        wait()
        return arguments.steps * arguments.batch / (time.perf_counter() - start)

    def wait() -> None:
        if arguments.device == "cuda":
            torch.cuda.synchronize()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--backbone", default="resnet50", help="a torchvision network")
    parser.add_argument("--batch", type=int, default=128, help="images, four per class")
    parser.add_argument("--side", type=int, default=256, help="pixels; larger images are cropped to 224")
    parser.add_argument("--precision", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--steps", type=int, default=30, help="per loop and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="also write the Markdown to this file")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("no CUDA device: this benchmark needs a GPU; --device cpu runs it anywhere")
    with tempfile.TemporaryDirectory() as folder:
        loops = {
            "bare": loop(arguments, synthetic(arguments), with_loss=False),
            "loss": loop(arguments, synthetic(arguments), with_loss=True),
            "data": loop(arguments, packed(arguments, Path(folder)), with_loss=True),
        }
        for run in loops.values():
            run()
        rates: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(arguments.rounds):
            for name, run in loops.items():
                rates[name].append(run())
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    lines = [
        "# One training step of a deep network",
        "",
        *(__doc__ or "").split("\n\n", 2)[2].strip().splitlines(),
        "",
        f"`python benchmarks/step.py {' '.join(sys.argv[1:])}`: {arguments.backbone}, {arguments.batch} images of side "
        f"{arguments.side}, {arguments.precision}, {where}, torch {torch.__version__}.",
        "",
        "| | images/s, median of rounds | share of bare, median (range) |",
        "|---|--:|--:|",
    ]
    for name, values in rates.items():
        shares = [100 * ours / bare for ours, bare in zip(values, rates["bare"], strict=True)]
        share = f"{statistics.median(shares):.1f}% ({min(shares):.1f} to {max(shares):.1f})"
        lines.append(f"| {name} | {statistics.median(values):,.0f} | {share} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
