"""Measures training on stored features beside training through the frozen network, for `docs/benchmarks/frozen.md`.

    python benchmarks/frozen.py [--rounds 5] [--images 5543] [--out docs/benchmarks/frozen.md]

Both train the same linear head (64 dimensions, triplet loss, easy positives, random semi-hard negatives, Adam) on
batches of 128 = 16 classes x 8 images of the same dataset, on one core, with `dml.training`'s own loop:

- through the network: each step reads its images (128 x 128 pixels) and passes them through a MobileNet v2
  (torchvision, random weights, in evaluation mode, without gradients);
- on stored features: each step reads the rows of the mapped array (1280 numbers an image).

They take turns, round by round; the table has the medians, on the clock and in processor time, which the load of the
machine does not stretch. A trial is 500 steps and one evaluation (recall@1, MAP@R, NMI) of the test half of the images.
Images, labels and weights are random. So the embeddings are nearly alike, which is the slowest case of the evaluation:
it ranks what float32 cannot tell apart by float64 distances.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from dml import models, noise
from dml.data import splits
from dml.data.packing import open_packed
from dml.models import EmbeddingNetwork
from dml.training import loop
from dml.training.data import describe, training_rows
from dml.training.frozen.extraction import extract
from dml.training.loop import Training
from dml.types import BatchSpec, DatasetSpec, EvaluationSpec, LossSpec, MinerSpec, NoiseSpec, TrainingSpec, TrialSpec

SIDE, CLASSES, BATCH = 128, 90, BatchSpec(classes=16, per_class=8)
NETWORK = {"backbone": "torchvision", "backbone_settings": {"name": "mobilenet_v2", "pretrained": False}}
FROZEN = TrainingSpec(**NETWORK, frozen=True, batch=BATCH, steps=500)
SLOW_STEPS, FAST_STEPS = 2, 200  # per round


class Still(nn.Module):
    """A backbone in evaluation mode, without gradients."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network, self.features = network.requires_grad_(False), network.features

    def forward(self, images: Tensor) -> Tensor:
        self.network.eval()
        with torch.no_grad():
            return self.network(images)


def prepare(folder: Path, images: int, training: TrainingSpec = FROZEN) -> None:
    """The outputs of the data stages for random images: packed, split, labels, and what a training needs stored."""
    packed, root = folder / "packed", folder / "data"
    packed.mkdir()
    root.mkdir()
    draw = np.random.default_rng(0)
    shape = (images, SIDE, SIDE, 3)
    pixels = np.lib.format.open_memmap(packed / "images.npy", mode="w+", dtype=np.uint8, shape=shape)
    for start in range(0, images, 512):
        part = pixels[start : start + 512]
        part[:] = draw.integers(0, 256, part.shape, dtype=np.uint8)
    fine = np.sort(np.arange(images) % CLASSES)
    index = pd.DataFrame({"index": np.arange(images), "fine": fine, "coarse": -1, "path": "", "camera": -1})
    index.to_parquet(packed / "index.parquet")
    manifest = {"images": images, "height": SIDE, "width": SIDE, "channels": 3, "digest": "random", "root": None}
    manifest |= {"decode": "eager", "resize": SIDE, "packing": 1}
    (packed / "manifest.json").write_text(json.dumps(manifest))
    (root / "pack.json").write_text(json.dumps({"random": {**manifest, "folder": str(packed)}}))
    halves = np.where(fine < CLASSES // 2, "train", "test")
    tune = np.where(fine < CLASSES // 4, "train", np.where(fine < CLASSES // 2, "validation", "unused"))
    splits.save(pd.DataFrame({"index": index["index"], "final": halves, "tune": tune}), root / "split/random.parquet")
    rows = training_rows(root, "random", "confirm")
    (root / "noise").mkdir()
    table = noise.table(rows, fine[rows], [("uniform", 0.2, {})], [0], "confirm")
    table.to_parquet(root / "noise/random.parquet")
    stored = extract(open_packed(packed), training, folder / "features")
    (root / "features.json").write_text(json.dumps({"random": {stored.name: {"folder": str(stored)}}}))


def trial(
    root: Path, training: TrainingSpec, loss: str = "triplet", tuples: tuple[str, str] = ("easy", "semihard_random")
) -> TrialSpec:
    """One confirmed trial."""
    return TrialSpec(
        phase="confirm",
        seed=0,
        dataset=DatasetSpec("random", **describe(root, "random", "uniform", 0.2, 0, "confirm")),
        noise=NoiseSpec("uniform", 0.2),
        loss=LossSpec(loss),
        miner=MinerSpec(*tuples),
        training=training,
        evaluation=EvaluationSpec(),
    )


def through_network(root: Path, folder: Path) -> Training:
    """The same head behind the frozen network."""
    build, training = loop.build_model, replace(FROZEN, frozen=False)

    def still(*given: object) -> EmbeddingNetwork:
        network = models.build("torchvision", embedding_size=1, name="mobilenet_v2", pretrained=False).backbone
        return EmbeddingNetwork(Still(network), training.embedding_size)  # type: ignore[arg-type]

    loop.build_model = still  # type: ignore[assignment]
    try:
        return Training(trial(root, training), root, folder)
    finally:
        loop.build_model = build


def train(training: Training, steps: int) -> None:
    """The loop's own step, several times."""
    for _ in range(steps):
        training._train_step()


def seconds(work: Callable[[], object]) -> np.ndarray:
    """The duration of a call: on the clock, and in processor time."""
    started = np.array([time.perf_counter(), time.process_time()])
    work()
    return np.array([time.perf_counter(), time.process_time()]) - started


def whole_trial(root: Path) -> None:
    """A trial from its spec to its stored model."""
    with tempfile.TemporaryDirectory() as folder:
        training = Training(trial(root, FROZEN), root, Path(folder))
        while not training.finished:
            training.advance()
        training.result()
        training.discard_checkpoint()
        training.close()


def measure(folder: Path, images: int, rounds: int) -> str:
    """The table."""
    prepare(folder, images)
    root = folder / "data"
    fast, slow = Training(trial(root, FROZEN), root, folder / "fast"), through_network(root, folder / "slow")
    train(fast, 20)
    train(slow, 1)
    rows, load = [], []
    for _ in range(rounds):
        slow_step = seconds(lambda: train(slow, SLOW_STEPS)) / SLOW_STEPS
        fast_step = seconds(lambda: train(fast, FAST_STEPS)) / FAST_STEPS
        whole, scored = seconds(lambda: whole_trial(root)), seconds(fast.evaluate)
        rows.append([1 / slow_step, 1 / fast_step, slow_step / fast_step, whole, scored])
        load.append(os.getloadavg()[0])
    measured = np.array(rows)  # (rounds, 5, 2)
    slowest, fastest, ratio, whole, scored = np.median(measured, axis=0)
    low, high = measured[:, 2].min(axis=0), measured[:, 2].max(axis=0)
    return "\n".join(
        [
            "| training a head, batches of 128 | on the clock | in processor time |",
            "|---|---|---|",
            _row("through the frozen MobileNet v2, 128 x 128 pixels", [f"{value:.2f} steps/s" for value in slowest]),
            _row("on stored features, 128 x 1280", [f"{value:.0f} steps/s" for value in fastest]),
            _row(
                f"ratio (median of {rounds} rounds; least, largest)",
                [f"{r:.0f} x ({a:.0f}, {b:.0f})" for r, a, b in zip(ratio, low, high, strict=True)],
            ),
            _row(
                f"a trial of 500 steps with the evaluation of {images // 2:,} images",
                [f"{value:.1f} s" for value in whole],
            ),
            _row("such an evaluation alone", [f"{value:.2f} s" for value in scored]),
            "",
            f"{images:,} images, {CLASSES} classes; torch {torch.__version__}, 1 thread; "
            f"load of the machine while measuring {statistics.median(load):.1f} (of {os.cpu_count()} cores).",
        ]
    )


def _row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=5543)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        table = measure(Path(folder), arguments.images, arguments.rounds)
    print(table)
    if arguments.out is not None:
        text = f"# Trials on frozen features\n\n{(__doc__ or '').strip()}\n\n{table}\n"
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
