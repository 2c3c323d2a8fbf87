"""Measures what each step without training is worth, for `docs/benchmarks/regime.md`.

    python benchmarks/free.py CACHE [--data ../shared/data] [--seeds 2] [--out docs/benchmarks/regime.md]

Features of all layers (`dml.models.Layers`) of an image and its mirror image are computed once for each dataset,
network and number of pixels, in float32, and kept in the folder CACHE, as are the results of each case: an interrupted
run goes on where it was. `--only cars` runs the cases whose names contain a word.

A case is a dataset, a network, pixels, and labels: as they are, with 20 or 40% wrong ones (uniform), with 40% wrong
ones of similar classes, or as people gave them. In each, every candidate of `dml.training.free` is fitted to the
training classes with these labels and scored on the test classes with their true ones. What `free` chooses is what the
halves of the training classes say, by the same labels. Test classes choose nothing. `benchmarks/choosing.py` reads the
same results.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from dml import audit, evaluation, files, models, noise
from dml.data import augment as augmentations
from dml.data import sources
from dml.data.packing import open_packed, pack
from dml.training import free
from dml.training.closed_form import some

TRAINED = 10_000  # images that train, at most: more take no part in a closed form
OWN = 224  # pixels, of photographs
BATCH = 16  # images embedded at once: their activations stay in the cache of a core
METRICS = ("recall@1", "map@r")
LITE = "efficientnet_lite0"
CLEAN, HUMAN = ("uniform", 0.0), ("given", None)
NOISES = (("uniform", 0.4), ("similarity", 0.4), ("uniform", 0.2))
CASES: tuple[tuple[str, str, int, tuple[tuple[str, float | None], ...]], ...] = (
    ("cars", LITE, 224, (CLEAN, *NOISES)),
    ("flowers", LITE, 224, (CLEAN, *NOISES)),
    ("cifar100", LITE, 96, (CLEAN, HUMAN)),
    ("cars", LITE, 128, (CLEAN, NOISES[0])),
    ("flowers", LITE, 128, (CLEAN, NOISES[0])),
    ("cars", LITE, 160, (CLEAN, NOISES[0])),
    ("flowers", LITE, 160, (CLEAN, NOISES[0])),
)


@dataclass(frozen=True)
class Images:
    """A dataset's images that train or test."""

    rows: np.ndarray  # int64 (n,), of the packed images
    fine: np.ndarray  # int64 (n,), true classes
    given: np.ndarray  # int64 (n,), classes as people gave them, or -1
    tests: np.ndarray  # bool (n,)
    trains: np.ndarray  # bool (n,), by true labels
    trains_given: np.ndarray  # bool (n,), by given ones


class Mirrored:
    """The mirror images (N, H, W, C) of an array of images."""

    def __init__(self, images: Any):
        self._images, self.shape = images, images.shape

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self._images[rows][:, :, ::-1]


def source_of(name: str, cache: Path, data: Path) -> tuple[Any, Path]:
    """A dataset's source and the folder of its raw files, which are downloaded if they are public."""
    if name in ("cars", "flowers"):
        folder = data / name
        return sources.build("imagefolder", root=str(folder), table=str(folder / "table.csv")), folder
    options = {"given": str(data / "cifar100n" / "cifar100n.csv")} if name == "cifar100" else {}
    source = sources.build(name, **options)
    source.download(cache / "raw" / name)
    return source, cache / "raw" / name


def chosen_images(index: pd.DataFrame, source: Any) -> Images:
    """All images that test, at most 10,000 that train by their true labels, and as many by given ones."""
    fine, roles = index["fine"].to_numpy(np.int64), np.asarray(source.roles(index)).astype(str)
    given = index["given_fine"].to_numpy(np.int64) if "given_fine" in index else np.full(len(fine), -1)
    train, test = np.flatnonzero(roles == "train"), np.flatnonzero(roles == "test")
    by_true = train[some(fine[train], TRAINED)]
    labelled = np.flatnonzero(np.isin(given, np.unique(fine[train])))
    by_given = labelled[some(given[labelled], TRAINED)]
    rows = np.concatenate([np.union1d(by_true, by_given), test])
    return Images(rows, fine[rows], given[rows], *(np.isin(rows, own) for own in (test, by_true, by_given)))


def features(
    name: str, network: str, pixels: int, cache: Path, data: Path, precision: str = "float32"
) -> tuple[Images, dict[str, np.ndarray]]:
    """A dataset's images, and by the names of layers their unit features of both views, float32 (n, 2, D)."""
    source, raw = source_of(name, cache, data)
    pack(source, raw, cache / f"{name}-{pixels}", resize=pixels, report=lambda line: None)
    packed = open_packed(cache / f"{name}-{pixels}")
    images = chosen_images(packed.index, source)
    file = cache / f"{name}-{network}-{pixels}-{precision}.npy"
    net: Any = models.build(network, embedding_size=1, image_size=pixels, layers=True).backbone
    if not file.is_file():
        augment = augmentations.build("none", channels=3, normalization=models.find(network).statistics())
        net.to(memory_format=torch.channels_last)
        began, processor = time.monotonic(), time.process_time()
        views = [
            evaluation.embed_images(net, given, images.rows, augment=augment, precision=precision, batch=BATCH)
            for given in (packed.images, Mirrored(packed.images))
        ]
        made = torch.stack(views, dim=1).numpy()
        with files.replacing(file) as temporary, open(temporary, "wb") as stream:
            np.save(stream, made)
        count = 2 * len(made)
        spent = {"clock": (time.monotonic() - began) / count, "processor": (time.process_time() - processor) / count}
        files.write_json(file.with_suffix(".json"), spent)
        print(f"{file.name}: {spent['processor']:.4f} s of processor time an image and view", flush=True)
    ends = np.cumsum(list(net.widths.values()))[:-1]
    return images, dict(zip(net.widths, np.split(np.load(file, mmap_mode="r"), ends, axis=2), strict=True))


def labels_of(
    images: Images, layers: Mapping[str, np.ndarray], model: str, rate: float | None, seed: int
) -> np.ndarray:
    """Observed labels of all images, -1 of those that do not train. Similar classes: by the mean of their features."""
    observed = np.full(len(images.rows), -1)
    if model == "given":
        observed[images.trains_given] = images.given[images.trains_given]
        return observed
    train = np.flatnonzero(images.trains)
    context = {"features": layers[models.Layers.last][train, 0]} if model == "similarity" else {}
    observed[train] = noise.build(model, rate=rate).corrupt(images.fine[train], seed, **context).observed
    return observed


def measure(images: Images, layers: Mapping[str, np.ndarray], observed: np.ndarray) -> list[dict[str, Any]]:
    """Every candidate: its scores on halves of the training classes by several labels, and on test classes."""
    train, test = np.flatnonzero(observed >= 0), np.flatnonzero(images.tests)
    classes = np.unique(observed[train], return_inverse=True)[1]
    rows = {name: free.unit(given[train]) for name, given in layers.items()}
    tested = {name: free.unit(given[test]) for name, given in layers.items()}
    suspect = suspects(rows[models.Layers.last][:, 0], classes)
    found: dict[free.Candidate, dict[str, Any]] = {}
    for half in (0, 1):
        fitted, held_out = np.flatnonzero(classes % 2 == half), np.flatnonzero(classes % 2 != half)
        held_out = held_out[some(classes[held_out], free.SCORED)]
        few = np.isin(classes[held_out], np.unique(classes[held_out])[::4])
        judges = {
            "observed": (classes[held_out], np.ones(len(held_out), bool)),
            "true": (images.fine[train[held_out]], np.ones(len(held_out), bool)),
            "quarter": (classes[held_out], few),
            "unsuspected": (classes[held_out], ~suspect[held_out]),
        }
        for one, projection in free.candidates({n: g[fitted] for n, g in rows.items()}, classes[fitted], None):
            embeddings = free.embedded(one, projection, rows[one.features][held_out])
            for judge, (labels, kept) in judges.items():
                own = evaluation.evaluate(embeddings[kept], labels[kept], list(METRICS))
                found.setdefault(one, {}).setdefault(judge, []).append([float(own[metric]) for metric in METRICS])
    for one, projection in free.candidates(rows, classes, None):
        embeddings = free.embedded(one, projection, tested[one.features])
        scored = {"test": embeddings}
        if one.features == models.Layers.last:
            scored["reranked"] = evaluation.augmented(embeddings).numpy()
        for name, given in scored.items():
            own = evaluation.evaluate(given, images.fine[test], list(METRICS), keep="return")
            by_class = evaluation.per_class(own.per_query)
            found[one][name] = [float(own[metric]) for metric in METRICS]
            found[one][f"{name} classes"] = by_class[["queries", *METRICS]].round(5).to_numpy().tolist()
    return [
        {"layer": one.features, "projection": one.projection, "views": one.views, "name": str(one), **scores}
        for one, scores in found.items()
    ]


def suspects(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which labels the audit suspects, bool (n,): as many as it guesses to be wrong."""
    return audit.audit({"features": vectors}, labels).suspects()


def cases(seeds: int) -> Iterator[tuple[str, str, int, str, float | None, int]]:
    """(dataset, network, pixels, noise, rate, seed)."""
    for seed in range(seeds):
        for name, network, pixels, noises in CASES:
            for model, rate in noises:
                if rate or not seed:
                    yield name, network, pixels, model, rate, seed


def results(cache: Path, data: Path, seeds: int, only: str = "") -> dict[tuple[Any, ...], dict[str, Any]]:
    """The records of all cases, those that are missing computed."""
    found = {}
    for case in cases(seeds):
        path = cache / "results" / ("-".join(map(str, case)) + ".json")
        if only not in path.name:
            continue
        if not path.is_file():
            images, layers = features(*case[:3], cache, data)
            began = time.process_time()
            observed = labels_of(images, layers, *case[3:])
            if case[0] in ("cars", "flowers") and case[2] != OWN:  # all layers only at the network's own pixels
                layers = {models.Layers.last: layers[models.Layers.last]}
            train = observed >= 0
            record = {
                "candidates": measure(images, layers, observed),
                "wrong": float((observed[train] != images.fine[train]).mean()),
                "train": int(train.sum()),
                "test": int(images.tests.sum()),
            }
            files.write_json(path, record | {"seconds": time.process_time() - began})
            print(f"{path.name}: {time.process_time() - began:.0f} s of processor time", flush=True)
        found[case] = files.read_json(path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results(arguments.cache, arguments.data, arguments.seeds, arguments.only)


if __name__ == "__main__":
    main()
