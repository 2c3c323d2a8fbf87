"""Images per second into the model: a packed, mapped array beside a `torch.utils.data.DataLoader` over an image folder.

    python benchmarks/data.py [--rounds 5] [--seconds 2] [--threads 1] [--out docs/benchmarks/data.md]

Both read the same synthetic images (smooth scenes with noise, which compress like photographs), make balanced batches
of 8 classes x 4 images (LoOp's batch of 32), augment in the same way and return normalised float32 batches. The folder
has PNG files of 32 and 80 pixels a side and JPEG files of 256. The peer is common practice: torchvision's ImageFolder,
PIL, torchvision's transforms, a DataLoader with 0 and 2 workers (the faster one counts), and pytorch-metric-learning's
MPerClassSampler. The contenders take turns in one process. Each turn starts a new iterator and does not count the
start. The process keeps freed memory for both, as our trials do (`dml/training/process.py`). The table shows medians
over the rounds and the range of the ratio.

Packing: photographs of 500 x 375 (a common size in CUB-200), decoded and resized to 256 x 256, beside a plain loop over
the files with PIL.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from pytorch_metric_learning.samplers import MPerClassSampler
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from dml.data import augment, batches, sources
from dml.data.packing import pack
from dml.training.batch_loader import BatchLoader
from dml.training.process import keep_freed_memory

CLASSES, PER_CLASS = 8, 4
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FLIP_CROP = [transforms.RandomCrop(227), transforms.RandomHorizontalFlip()]
CASES = {  # side: (images, file type, dml's pipeline, the peer's transforms)
    32: (6400, "png", "none", []),
    80: (3200, "png", "omniglot80", []),
    256: (960, "jpg", "crop227", FLIP_CROP),
}


def scenes(count: int, side: int, seed: int) -> Iterator[np.ndarray]:
    """uint8 (side, side, 3): smooth colours with noise."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        coarse = generator.integers(0, 256, size=(6, 6, 3), dtype=np.uint8)
        smooth = np.asarray(Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC), dtype=np.float32)
        yield np.clip(smooth + generator.normal(0, 8, size=smooth.shape), 0, 255).astype(np.uint8)


def write(folder: Path, count: int, side: int, kind: str) -> tuple[int, int]:
    """Write an image folder of 32 classes and the packed array of the same pixels; return the bytes of each."""
    packed = np.lib.format.open_memmap(folder / "images.npy", mode="w+", dtype=np.uint8, shape=(count, side, side, 3))
    size = 0
    for row, scene in enumerate(scenes(count, side, seed=side)):
        content = io.BytesIO()
        Image.fromarray(scene).save(content, format="JPEG" if kind == "jpg" else "PNG", quality=90)
        path = folder / "folder" / f"{row % 32:02d}" / f"{row:05d}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(content.getvalue())
        packed[row] = np.asarray(Image.open(content))
    packed.flush()
    return size, packed.nbytes


def ours(folder: Path, count: int, pipeline: str) -> Iterator[torch.Tensor]:
    """Batches as training loads them."""
    labels = np.arange(count) % 32
    sampler = batches.build("balanced", labels=labels, classes=CLASSES, per_class=PER_CLASS)
    loader = BatchLoader(np.load(folder / "images.npy", mmap_mode="r"), np.arange(count), labels, sampler, "cpu")
    change = augment.build(pipeline, channels=3, normalization="imagenet")
    generator = torch.Generator().manual_seed(0)
    try:
        while True:
            yield change(loader.next().images, training=True, generator=generator)
    finally:
        loader.close()


def theirs(folder: Path, chain: list[Callable], workers: int) -> Iterator[torch.Tensor]:
    """An endless sequence of a DataLoader's batches."""
    steps = [*chain, transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    data = ImageFolder(str(folder / "folder"), transforms.Compose(steps))
    size = CLASSES * PER_CLASS
    sampler = MPerClassSampler(data.targets, PER_CLASS, batch_size=size, length_before_new_iter=100_000)
    loader = DataLoader(data, batch_size=size, sampler=sampler, num_workers=workers)
    while True:
        for images, _ in loader:
            yield images


def rate(start: Callable[[], Iterator[torch.Tensor]], seconds: float) -> float:
    """Images per second over about `seconds`, after a warm-up of as many batches as the workers prefetch."""
    iterator = start()
    for _ in range(5):
        next(iterator)
    count, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        count += len(next(iterator))
    iterator.close()  # type: ignore[attr-defined]
    return count / elapsed


def measure(side: int, rounds: int, seconds: float) -> dict[str, list[float]]:
    count, kind, pipeline, chain = CASES[side]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files, packed = write(folder, count, side, kind)
        contenders = {
            "dml": lambda: ours(folder, count, pipeline),
            "0 workers": lambda: theirs(folder, chain, 0),
            "2 workers": lambda: theirs(folder, chain, 2),
        }
        rates: dict[str, list[float]] = {key: [] for key in contenders}
        for _ in range(rounds):
            for key, start in contenders.items():
                rates[key].append(rate(start, seconds))
    return {**rates, "bytes": [files / count, packed / count]}


def packing(rounds: int) -> str:
    """A row of the packing table: photographs per second, and bytes."""
    count, width, height, side = 400, 500, 375, 256
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, scene in enumerate(scenes(count, width, seed=0)):
            path = folder / "folder" / f"{number % 20:02d}" / f"{number:05d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(scene[:height]).save(path, quality=90)
        paths = sorted((folder / "folder").rglob("*.jpg"))
        source = sources.build("imagefolder", root=str(folder / "folder"))
        times: dict[str, list[float]] = {"dml": [], "loop": []}
        for turn in range(rounds):
            start = time.perf_counter()
            pack(source, folder / "raw", folder / f"packed-{turn}", resize=side, report=lambda line: None)
            times["dml"].append(count / (time.perf_counter() - start))
            start = time.perf_counter()
            for path in paths:
                np.asarray(Image.open(path).convert("RGB").resize((side, side), Image.Resampling.BILINEAR))
            times["loop"].append(count / (time.perf_counter() - start))
        files = sum(path.stat().st_size for path in paths) / count
        packed = sum(path.stat().st_size for path in (folder / "packed-0").rglob("*") if path.is_file()) / count
    ratios = [ours / theirs for ours, theirs in zip(times["dml"], times["loop"], strict=True)]
    middle = {key: statistics.median(values) for key, values in times.items()}
    return (
        f"| {count} JPEG, {width} x {height} to {side} x {side} | {middle['dml']:,.0f} | {middle['loop']:,.0f} | "
        f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) | {files:,.0f} / {packed:,.0f} |"
    )


def row(side: int, rates: dict[str, list[float]]) -> str:
    middle = {key: statistics.median(values) for key, values in rates.items()}
    best = max(("0 workers", "2 workers"), key=middle.__getitem__)
    ratios = [ours / theirs for ours, theirs in zip(rates["dml"], rates[best], strict=True)]
    cells = [f"{side} x {side}", CASES[side][2], *(f"{middle[key]:,.0f}" for key in ("dml", "0 workers", "2 workers"))]
    cells += [f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"]
    cells += [f"{rates['bytes'][0]:,.0f} / {rates['bytes'][1]:,.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="per contender and round")
    parser.add_argument("--threads", type=int, default=1, help="torch threads in this process; each worker has one")
    parser.add_argument("--sides", type=int, nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path, help="also write the Markdown to this file")
    given = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(given.threads)
    command = f"python benchmarks/data.py --rounds {given.rounds} --seconds {given.seconds:g} --threads {given.threads}"
    lines = [
        "# Images per second into the model",
        "",
        f"`{command}`, {os.cpu_count()} cores, torch {torch.__version__}, {given.threads} threads in this process.",
        "Medians of interleaved rounds. The ratio is to the faster DataLoader, with its range over the rounds.",
        "",
        "| images | pipeline | dml, images/s | DataLoader, 0 workers | 2 workers | ratio | bytes, file / packed |",
        "|---|---|---|---|---|---|---|",
        *(row(side, measure(side, given.rounds, given.seconds)) for side in given.sides),
        "",
        "## Packing",
        "",
        "| images | packed, images/s | loop over PIL, images/s | ratio | bytes per image, file / packed |",
        "|---|---|---|---|---|",
        packing(given.rounds),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
