"""Measures a whole trial beside a plain script that trains the same, for `docs/benchmarks/plain-trial.md`.

    python benchmarks/plain_trial.py --root FOLDER --table TABLE.csv --weights mobilenet_v2.safetensors
        [--steps 150] [--every 25] [--seeds 2] [--kinds partial finetune] [--out docs/benchmarks/plain-trial.md]

`TABLE` has the columns path, fine and split (train, test), as docs/datasets.md describes. Both train a MobileNet v2
at 128 pixels with a head of 128 dimensions, multi-similarity loss and its miner, AdamW with a cosine schedule, frozen
batch norm, 16 x 4 images a batch, random resized crops and flips; both score R@1 of the test classes at the end, or
also every so many steps, as a trial must whose curve decides when to stop.

- `plain`: PyTorch's `DataLoader`, Pillow, torchvision's transforms, and pytorch-metric-learning's sampler, miner and
  loss. With `upper` it trains the blocks from `features.14` on (the others run without gradients), else all of them.
- `partial`, `finetune`: `dml`'s trials with `train_from: features.14` and with the whole network, from packed images to
  the saved model. The stored activations, which all trials of a study share, are counted apart.

All run on one thread, one after another, for each seed, in a process that keeps freed memory, as workers of a sweep do
(`dml/training/process.py`): without it the plain script would take up to twice as long. Seconds are of the processor,
which the load of the machine hardly stretches.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.data import DataLoader, Dataset

from dml import evaluation, models, noise
from dml.data import sources, splits
from dml.data.packing import open_packed, pack
from dml.training.data import describe, training_rows
from dml.training.frozen.extraction import extract
from dml.training.loop import Training
from dml.training.process import keep_freed_memory
from dml.types import BatchSpec, DatasetSpec, EvaluationSpec, LossSpec, MinerSpec, NoiseSpec, TrainingSpec, TrialSpec

SIDE, BLOCK, CLASSES, PER_CLASS = 128, 14, 16, 4
RATE, HEAD_RATE, DECAY = 1e-4, 1e-3, 1e-4


class Photographs(Dataset[tuple[Tensor, int]]):
    """Images of a table, decoded whenever they are asked for."""

    def __init__(self, root: Path, table: pd.DataFrame, transform: Callable[[Image.Image], Tensor]):
        self._paths, self.labels = [root / path for path in table["path"]], pd.factorize(table["fine"], sort=True)[0]
        self._transform = transform

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        with Image.open(self._paths[index]) as image:
            return self._transform(image.convert("RGB")), int(self.labels[index])


def plain(root: Path, table: pd.DataFrame, weights: Path, steps: int, every: int, seed: int, upper: bool) -> float:
    """The last R@1 of a script without `dml`, but for the network's weights and the score."""
    from pytorch_metric_learning import losses, miners, samplers
    from torchvision.transforms import v2

    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (the sampler draws from it)
    tail = [v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3)]
    square = v2.Resize((SIDE, SIDE))  # the whole image, as `dml` packs it
    crops = v2.Compose([square, v2.RandomResizedCrop(SIDE, (0.5, 1.0)), v2.RandomHorizontalFlip(), *tail])
    train = Photographs(root, table[table["split"] == "train"], crops)
    test = Photographs(root, table[table["split"] == "test"], v2.Compose([square, *tail]))
    network = models.build(
        "torchvision",
        embedding_size=128,
        name="mobilenet_v2",
        weights=str(weights),
        padding="tensorflow",
        batch_norm="frozen",
    )
    body = network.backbone.network.features  # type: ignore[union-attr]
    if upper:
        body[:BLOCK].requires_grad_(False)
    head = list(network.head.parameters())
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.requires_grad_(False)
    trained = [p for p in body.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW([{"params": trained}, {"params": head, "lr": HEAD_RATE}], RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    loss, mine = losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5), miners.MultiSimilarityMiner(epsilon=0.1)
    sampler = samplers.MPerClassSampler(train.labels, PER_CLASS, CLASSES * PER_CLASS, CLASSES * PER_CLASS * steps)

    @torch.no_grad()
    def score() -> float:
        network.eval()
        embeddings = torch.cat([network(images) for images, _ in DataLoader(test, 64)])
        return evaluation.evaluate(embeddings, torch.from_numpy(test.labels), ["recall@1"])["recall@1"]

    batches = DataLoader(train, CLASSES * PER_CLASS, sampler=sampler)
    for step, (images, labels) in enumerate(batches, 1):
        network.train()
        embeddings = network(images)
        optimizer.zero_grad()
        loss(embeddings, labels, mine(embeddings, labels)).backward()
        optimizer.step()
        schedule.step()
        if step % every == 0 or step == steps:
            recall = score()
    return recall


def prepare(folder: Path, root: Path, table: Path) -> None:
    """The outputs of the data stages."""
    source = sources.build("imagefolder", root=str(root), table=str(table))
    data, packed = folder / "data", folder / "packed"
    data.mkdir()
    manifest = pack(source, root, packed, resize=SIDE, report=lambda line: None)
    (data / "pack.json").write_text(json.dumps({"own": {**manifest, "folder": str(packed)}}))
    opened = open_packed(packed)
    splits.save(splits.make(opened.index, source), data / "split/own.parquet")
    rows = training_rows(data, "own", "confirm")
    (data / "noise").mkdir()
    seeds = list(range(100))
    made = noise.table(rows, opened.index["fine"].to_numpy()[rows], [("uniform", 0.0, {})], seeds, "confirm")
    made.to_parquet(data / "noise/own.parquet")


def settings(weights: Path, steps: int, **changes: object) -> TrainingSpec:
    """Of a trial of `dml`."""
    given = {"name": "mobilenet_v2", "weights": str(weights), "padding": "tensorflow", "mean": 0.5, "std": 0.5}
    return TrainingSpec(
        backbone="torchvision",
        backbone_settings=models.with_files("torchvision", given),
        embedding_size=128,
        steps=steps,
        batch=BatchSpec(classes=CLASSES, per_class=PER_CLASS),
        optimizer="adamw",
        learning_rate=RATE,
        head_learning_rate=HEAD_RATE,
        weight_decay=DECAY,
        schedule="cosine",
        batch_norm="frozen",
        augment="random_resized_crop",
        augment_settings={"image_size": SIDE, "scale": [0.5, 1.0]},
        **changes,  # type: ignore[arg-type]
    )


def trial(data: Path, training: TrainingSpec, every: int, seed: int) -> float:
    """R@1 of a trial of `dml`, from its spec to its saved model."""
    spec = TrialSpec(
        phase="confirm",
        seed=seed,
        dataset=DatasetSpec("own", **describe(data, "own", "uniform", 0.0, seed, "confirm")),
        noise=NoiseSpec("uniform", 0.0),
        loss=LossSpec("multi_similarity"),
        miner=MinerSpec("multi_similarity", "multi_similarity"),
        training=training,
        evaluation=EvaluationSpec(metrics=("recall@1",), every=every),
    )
    with tempfile.TemporaryDirectory() as folder:
        running = Training(spec, data, Path(folder))
        while not running.finished:
            running.advance()
        running.close()
        return running.result().scores["test/fine/recall@1"]


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """The processor time of a call, and its score."""
    started = time.process_time()
    score = work()
    return time.process_time() - started, score


def measure(folder: Path, given: argparse.Namespace) -> str:
    """The table."""
    root, weights, steps, every = given.root, given.weights, given.steps, given.every or given.steps
    listed = pd.read_csv(given.table)
    prepare(folder, root, given.table)
    data = folder / "data"
    specs = {
        "partial": settings(weights, steps, train_from=f"features.{BLOCK}", views=4, frozen_precision="float16"),
        "finetune": settings(weights, steps),
    }
    notes = [f"{len(listed):,} images, {steps} steps, scored every {every}; torch {torch.__version__}, 1 thread."]
    if "partial" in given.kinds:
        started = time.process_time()
        stored = extract(open_packed(folder / "packed"), specs["partial"], folder / "features", report=print)
        seconds = time.process_time() - started
        (data / "features.json").write_text(json.dumps({"own": {stored.name: {"folder": str(stored)}}}))
        notes.append(f"The stored activations of `partial` took {seconds:.0f} s, once for all trials of a study.")
    lines = ["| a whole trial | processor seconds | ratio | R@1 of each seed |", "|---|---|---|---|"]
    for kind in given.kinds:
        plain_runs, trials = [], []
        for seed in range(given.seeds):
            plain_runs.append(timed(partial(plain, root, listed, weights, steps, every, seed, kind == "partial")))
            trials.append(timed(partial(trial, data, specs[kind], every, seed)))
            print(f"seed {seed}: {kind} {trials[-1][0]:.0f} s, plain {plain_runs[-1][0]:.0f} s", flush=True)
        blocks = "upper blocks" if kind == "partial" else "whole network"
        for name, runs in ((f"plain, {blocks}", plain_runs), (f"`{kind}`", trials)):
            ratio = statistics.median(a[0] / b[0] for a, b in zip(plain_runs, runs, strict=True))
            scores = ", ".join(f"{100 * score:.1f}" for _, score in runs)
            lines.append(f"| {name} | {statistics.median(s for s, _ in runs):.0f} | {ratio:.1f} | {scores} |")
    return "\n".join([*lines, "", *notes])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--every", type=int, help="steps between two scores; default: one score, at the end")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=["partial", "finetune"], default=["partial", "finetune"])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        table = measure(Path(folder), given)
    print(table)
    if given.out is not None:
        given.out.write_text(
            f"# A whole trial beside a plain script\n\n{(__doc__ or '').strip()}\n\n{table}\n", "utf-8"
        )


if __name__ == "__main__":
    main()
