"""Measures training upper blocks on stored activations beside the whole network.

    python benchmarks/partial.py [--rounds 5] [--images 1024] [--out FILE]

Both train a MobileNet v2 (torchvision, random weights, 128 x 128 pixels) with a linear head of 128 dimensions by
multi-similarity loss with its miner and AdamW, on batches of 64 = 16 classes x 4 images of the same dataset, on one
core, with `dml.training`'s own loop:

- the whole network: each step reads its images, crops them at random (`random_resized_crop`) and trains all blocks;
- from a block on: each step reads a random one of four stored views of each image (activations before `features.14`,
  96 x 8 x 8 in float16) and trains the blocks `features.14` to `features.18`.

Both keep their batch norms as they are (`batch_norm: frozen`). They take turns, round by round; the table has the
medians, on the clock and in processor time, which the load of the machine does not stretch. Computing the activations
takes one pass over four views of all images, once for all trials; the table says what that costs. Images, labels and
weights are random.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from frozen import CLASSES, NETWORK, SIDE, _row, prepare, seconds, train, trial

from dml.training.loop import Training
from dml.types import BatchSpec, TrainingSpec

BLOCK = "features.14"
WHOLE = TrainingSpec(
    **NETWORK,
    embedding_size=128,
    batch=BatchSpec(classes=16, per_class=4),
    augment="random_resized_crop",
    augment_settings={"image_size": SIDE},
    optimizer="adamw",
    learning_rate=2e-4,
    schedule="cosine",
    batch_norm="frozen",
    steps=10_000,
)
PARTIAL = replace(WHOLE, train_from=BLOCK, views=4, frozen_precision="float16")
LOSS, TUPLES = "multi_similarity", ("multi_similarity", "multi_similarity")
SLOW_STEPS, FAST_STEPS = 1, 10  # per round


def measure(folder: Path, images: int, rounds: int) -> str:
    """The table."""
    stored = seconds(lambda: prepare(folder, images, PARTIAL))
    root = folder / "data"
    fast, slow = (
        Training(trial(root, training, LOSS, TUPLES), root, folder / name)
        for name, training in (("fast", PARTIAL), ("slow", WHOLE))
    )
    train(fast, 2)
    train(slow, 1)
    rows, load = [], []
    for _ in range(rounds):
        slow_step = seconds(lambda: train(slow, SLOW_STEPS)) / SLOW_STEPS
        fast_step = seconds(lambda: train(fast, FAST_STEPS)) / FAST_STEPS
        rows.append([1 / slow_step, 1 / fast_step, slow_step / fast_step])
        load.append(os.getloadavg()[0])
    fast.close()
    slow.close()
    measured = np.array(rows)  # (rounds, 3, 2)
    slowest, fastest, ratio = np.median(measured, axis=0)
    low, high = measured[:, 2].min(axis=0), measured[:, 2].max(axis=0)
    return "\n".join(
        [
            f"| training a MobileNet v2, {SIDE} x {SIDE} pixels, batches of 64 | on the clock | in processor time |",
            "|---|---|---|",
            _row("the whole network", [f"{value:.2f} steps/s" for value in slowest]),
            _row(f"from `{BLOCK}` on, on stored activations", [f"{value:.2f} steps/s" for value in fastest]),
            _row(
                f"ratio (median of {rounds} rounds; least, largest)",
                [f"{r:.1f} x ({a:.1f}, {b:.1f})" for r, a, b in zip(ratio, low, high, strict=True)],
            ),
            _row(
                f"storing four views of {images:,} images, in steps of the whole network",
                [f"{value:.0f}" for value in stored * slowest],
            ),
            "",
            f"{images:,} images, {CLASSES} classes; torch {torch.__version__}, 1 thread; "
            f"load of the machine while measuring {statistics.median(load):.1f} (of {os.cpu_count()} cores).",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=1024)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        table = measure(Path(folder), arguments.images, arguments.rounds)
    print(table)
    if arguments.out is not None:
        text = f"# Training from a block on\n\n{(__doc__ or '').strip()}\n\n{table}\n"
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
