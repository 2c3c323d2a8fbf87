"""Measures what each step without training is worth, for `docs/benchmarks/regime.md`.

    python benchmarks/free.py CACHE [--data ../shared/data] [--only cars flowers] [--out docs/benchmarks/regime.md]

Features of all layers (`dml.models.Layers`) of both views are computed once for each dataset, network and number of
pixels, and kept in the folder CACHE.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from dml import evaluation, models
from dml.data import augment as augmentations
from dml.data import sources
from dml.data.packing import open_packed, pack
from dml.training.closed_form import some

TRAINED = 10_000  # images that train, at most: more take no part in a closed form
BATCH = 16  # images embedded at once: their activations stay in the cache of a core


@dataclass(frozen=True)
class Images:
    """A dataset's images that train or test. `given`: labels of people, or -1."""

    rows: np.ndarray  # int64 (n,), of the packed images
    fine: np.ndarray  # int64 (n,)
    given: np.ndarray  # int64 (n,)
    tests: np.ndarray  # bool (n,)


def source_of(name: str, data: Path) -> tuple[sources.Source, Path]:
    """A dataset's source and the folder of its raw files."""
    if name in ("cars", "flowers"):
        folder = data / name
        return sources.build("imagefolder", root=str(folder), table=str(folder / "table.csv")), folder
    options = {"given": str(data / "cifar100n" / "cifar100n.csv")} if name == "cifar100" else {}
    return sources.build(name, **options), data / name


def chosen_images(name: str, index, source) -> Images:
    """All images that test, and at most 10,000 that train by their true labels, and as many by given ones."""
    fine, roles = index["fine"].to_numpy(np.int64), np.asarray(source.roles(index)).astype(str)
    given = index["given_fine"].to_numpy(np.int64) if "given_fine" in index else np.full(len(fine), -1)
    train, test = np.flatnonzero(roles == "train"), np.flatnonzero(roles == "test")
    rows = train[some(fine[train], TRAINED)]
    if (given >= 0).any():
        part = roles == "train"
        labelled = np.flatnonzero(np.isin(given, np.unique(fine[part])) & (given >= 0))
        rows = np.union1d(rows, labelled[some(given[labelled], TRAINED)])
    rows = np.concatenate([rows, test])
    return Images(rows, fine[rows], given[rows], np.isin(rows, test))


def features(
    name: str, network: str, pixels: int, cache: Path, data: Path, precision: str = "float32"
) -> tuple[Images, dict[str, np.ndarray]]:
    """A dataset's images, and by the names of layers their unit features of both views, float32 (n, 2, D)."""
    source, raw = source_of(name, data)
    folder = cache / f"{name}-{pixels}"
    pack(source, raw, folder, resize=pixels, report=lambda line: None)
    packed = open_packed(folder)
    images = chosen_images(name, packed.index, source)
    file = cache / f"{name}-{network}-{pixels}-{precision}.npy"
    net = models.build(network, embedding_size=1, image_size=pixels, layers=True).backbone
    if not file.is_file():
        part = models.find(network)
        augment = augmentations.build("none", channels=3, normalization=part.statistics())
        net.to(memory_format=torch.channels_last)
        began, each = time.monotonic(), []
        for view in (0, 1):
            given = packed.images if view == 0 else Mirrored(packed.images)
            each.append(
                evaluation.embed_images(net, given, images.rows, augment=augment, precision=precision, batch=BATCH)
            )
        made = torch.stack(each, dim=1).numpy()
        np.save(file.with_suffix(".part.npy"), made)
        file.with_suffix(".part.npy").rename(file)
        seconds = time.monotonic() - began
        file.with_suffix(".json").write_text(json.dumps({"seconds": seconds, "images": len(made)}))
        print(f"{file.name}: {seconds / len(made) / 2:.4f} s an image and view", flush=True)
    stored, start, found = np.load(file, mmap_mode="r"), 0, {}
    for layer, width in net.widths.items():
        found[layer] = stored[:, :, start : start + width]
        start += width
    return images, found


class Mirrored:
    """Mirror images (N, H, W, C) of an array."""

    def __init__(self, images):
        self._images, self.shape = images, images.shape

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, rows):
        return self._images[rows][:, :, ::-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("cache", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--extract", nargs="*", default=[])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    for one in arguments.extract:
        name, network, pixels, precision = one.split(",")
        features(name, network, int(pixels), arguments.cache, arguments.data, precision)
