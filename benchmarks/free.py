"""Measures what each step without training is worth, for `docs/benchmarks/regime.md`.

    python benchmarks/free.py CACHE --data DATA [--weights WEIGHTS] [--seeds 2]

Features of all layers (`dml.models.Layers`) of an image and its mirror image are computed once for each dataset,
network and number of pixels, in float32, and kept in the folder CACHE, as are the results of each case: an interrupted
run goes on where it was. `--only cars` runs the cases whose names contain a word. Letters and digits have no
mirror image. `A+B` are the features of two networks side by side.

A case is a dataset, a network, pixels, and labels: as they are, with 20 or 40% wrong ones (uniform), with 40% wrong
ones of similar classes, or as people gave them. In each, every candidate of `dml.training.free` is fitted to the
training classes with these labels and scored on the test classes with their true ones. What `free` chooses is what the
halves of the training classes say, by the same labels. Test classes choose nothing. `benchmarks/choosing.py` reads the
same results.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from dml.training.closed_form import apply, fit, some

TRAINED = 10_000  # images that train, at most: more take no part in a closed form
TESTED = 10_000  # images that test, at most
BATCH = 16  # images embedded at once: their activations stay in the cache of a core
METRICS = ("recall@1", "map@r")
LAST = models.Layers.last
SHORT = 128  # principal components that are audited
LITE, SMALL = "efficientnet_lite0", "mobilenet_v1"
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {  # names in the tables -> parts and settings; files are in WEIGHTS
    LITE: (LITE, {}),
    "efficientnet_lite1": ("efficientnet_lite1", {}),
    "efficientnet_lite2": ("efficientnet_lite2", {}),
    SMALL: (SMALL, {"width": 0.75, "weights": "mobilenet_v1_075.safetensors", "mean": 0.5, "std": 0.5}),
    "mobilenet_v2": (
        "torchvision",
        {"name": "mobilenet_v2", "weights": "mobilenet_v2.safetensors", "mean": 0.5, "std": 0.5}
        | {"padding": "tensorflow"},
    ),
}
CLEAN, HUMAN, WRONG = ("uniform", 0.0), ("given", None), ("uniform", 0.4)
NOISES = (WRONG, ("similarity", 0.4), ("uniform", 0.2))
PHOTOGRAPHS, LETTERS = ("cars", "flowers"), ("numbers", "omniglot", "mnist")
PLAN: tuple[tuple[str, str, int, tuple[tuple[str, float | None], ...]], ...] = (
    *((name, LITE, 224, (CLEAN, *NOISES)) for name in PHOTOGRAPHS),
    *((name, LITE, pixels, (CLEAN,)) for name in PHOTOGRAPHS for pixels in (128, 160)),
    ("cifar100", LITE, 96, (CLEAN, HUMAN, *NOISES)),
    ("cifar100", SMALL, 96, (CLEAN, HUMAN)),
    *((name, SMALL, 224, (CLEAN, WRONG)) for name in PHOTOGRAPHS),
    *((name, f"{LITE}+{SMALL}", 224, (CLEAN, WRONG)) for name in PHOTOGRAPHS),
    *((name, "mobilenet_v2", 224, (CLEAN, WRONG)) for name in PHOTOGRAPHS),
    *((name, "efficientnet_lite1", 240, (CLEAN, WRONG)) for name in PHOTOGRAPHS),
    *((name, "efficientnet_lite2", 260, (CLEAN, WRONG)) for name in PHOTOGRAPHS),
    *((name, LITE, 96, (CLEAN, WRONG)) for name in LETTERS),
)
FEWER = [(name, pixels) for name in PHOTOGRAPHS for pixels in (128, 160)]  # than the network's own pixels


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
    """At most 10,000 images that test, that train by their true labels, and as many that train by given ones."""
    fine, roles = index["fine"].to_numpy(np.int64), np.asarray(source.roles(index)).astype(str)
    given = index["given_fine"].to_numpy(np.int64) if "given_fine" in index else np.full(len(fine), -1)
    train, test = np.flatnonzero(roles == "train"), np.flatnonzero(roles == "test")
    by_true = train[some(fine[train], TRAINED)]
    labelled = np.flatnonzero(np.isin(given, np.unique(fine[train])))
    by_given = labelled[some(given[labelled], TRAINED)]
    test = test[some(fine[test], TESTED)]
    rows = np.concatenate([np.union1d(by_true, by_given), test])
    return Images(rows, fine[rows], given[rows], *(np.isin(rows, role) for role in (test, by_true, by_given)))


def features(
    name: str,
    network: str,
    pixels: int,
    cache: Path,
    data: Path,
    weights: Path | None = None,
    chosen: Callable[[pd.DataFrame, Any], Images] = chosen_images,
) -> tuple[Images, dict[str, np.ndarray]]:
    """A dataset's images, and by the names of layers their unit features of each view, float32 (n, V, D)."""
    if "+" in network:
        each = [features(name, part, pixels, cache, data, weights) for part in network.split("+")]
        images, last = each[0][0], [free.unit(layers[LAST]) for _, layers in each]
        return images, {LAST: np.concatenate(last, axis=2)}
    source, raw = source_of(name, cache, data)
    pack(source, raw, cache / f"{name}-{pixels}", resize=pixels, report=lambda line: None)
    packed = open_packed(cache / f"{name}-{pixels}")
    images = chosen(packed.index, source)
    file = cache / f"{name}-{network}-{pixels}-float32.npy"
    part, settings = NETWORKS[network]
    if "weights" in settings:
        settings = settings | {"weights": str((weights or Path("pipelines/weights")) / settings["weights"])}
    net: Any = models.build(part, embedding_size=1, image_size=pixels, layers=True, **settings).backbone
    if not file.is_file():
        normalization = models.find(part).statistics(**settings)
        augment = augmentations.build("none", channels=3, normalization=normalization)
        net.to(memory_format=torch.channels_last)
        views = [packed.images, Mirrored(packed.images)] if source.mirrors else [packed.images]
        began, processor = time.monotonic(), time.process_time()
        made = [evaluation.embed_images(net, given, images.rows, augment=augment, batch=BATCH) for given in views]
        count = len(views) * len(images.rows)
        spent = {"clock": (time.monotonic() - began) / count, "processor": (time.process_time() - processor) / count}
        with files.replacing(file) as temporary, open(temporary, "wb") as stream:
            np.save(stream, torch.stack(made, dim=1).numpy())
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
    context = {"features": layers[LAST][train, 0]} if model == "similarity" else {}
    observed[train] = noise.build(model, rate=rate).corrupt(images.fine[train], seed, **context).observed
    return observed


def measure(images: Images, layers: Mapping[str, np.ndarray], observed: np.ndarray) -> list[dict[str, Any]]:
    """Every candidate: its scores on halves of the training classes by several labels, and on test classes."""
    train, test = np.flatnonzero(observed >= 0), np.flatnonzero(images.tests)
    classes, true = np.unique(observed[train], return_inverse=True)[1], images.fine[train]
    rows = {name: free.unit(given[train]) for name, given in layers.items()}
    tested = {name: free.unit(given[test]) for name, given in layers.items()}
    suspect = suspects(rows[LAST][:, 0], classes)
    records: dict[free.Candidate, dict[str, Any]] = {}
    for half in (0, 1):
        fitted, held_out = np.flatnonzero(classes % 2 == half), np.flatnonzero(classes % 2 != half)
        held_out = held_out[some(classes[held_out], free.SCORED)]
        quarter = held_out[np.isin(classes[held_out], np.unique(classes[held_out])[::4])]
        judges = {"held out": held_out, "quarter": quarter, "unsuspected": held_out[~suspect[held_out]]}
        for one, projection in free.candidates({n: g[fitted] for n, g in rows.items()}, classes[fitted], None):
            for judge, chosen in judges.items():
                if judge == "held out" or one.features == LAST:
                    embeddings = free.embedded(one, projection, rows[one.features][chosen])
                    levels = {"observed": classes[chosen], "true": true[chosen]}
                    values = evaluation.evaluate(embeddings, levels, list(METRICS), per_query=True)
                    by_class = evaluation.per_class(values.per_query).round(5)
                    for level in levels:
                        scores = [float(values[f"{level}/{metric}"]) for metric in METRICS]
                        records.setdefault(one, {}).setdefault(f"{judge}, {level}", []).append(scores)
                        each = by_class.loc[by_class["level"] == level, ["queries", *METRICS]].to_numpy().tolist()
                        records[one].setdefault(f"{judge}, {level} classes", []).append(each)
    for one, projection in free.candidates(rows, classes, None):
        embeddings = free.embedded(one, projection, tested[one.features])
        scored = {"test": embeddings}
        if one.features == LAST and one.projection in (free.NO_PROJECTION, "whitening"):
            scored["re-ranked"] = evaluation.augmented(embeddings).numpy()
        for name, given in scored.items():
            values = evaluation.evaluate(given, images.fine[test], list(METRICS), per_query=True)
            by_class = evaluation.per_class(values.per_query)
            records[one][name] = [float(values[metric]) for metric in METRICS]
            records[one][f"{name} classes"] = by_class[["queries", *METRICS]].round(5).to_numpy().tolist()
    return [
        {"layer": one.features, "projection": one.projection, "views": one.views, "name": str(one), **scores}
        for one, scores in records.items()
    ]


def suspects(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which labels the audit of their first 128 principal components suspects, bool (n,)."""
    short = apply(fit("components", vectors, labels, SHORT), vectors)
    return audit.audit({"features": short}, labels).suspects()


def cases(seeds: int) -> Iterator[tuple[str, str, int, str, float | None, int]]:
    """(dataset, network, pixels, noise, rate, seed)."""
    for seed in range(seeds):
        for name, network, pixels, noises in PLAN:
            for model, rate in noises:
                if rate or not seed:
                    yield name, network, pixels, model, rate, seed


def results(
    cache: Path, data: Path, seeds: int, only: str = "", stored: bool = False, weights: Path | None = None
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The records of all cases; those that are missing are computed, or with `stored` left out."""
    records = {}
    for case in cases(seeds):
        path = cache / "results" / ("-".join(map(str, case)) + ".json")
        if only not in path.name or (stored and not path.is_file()):
            continue
        if not path.is_file():
            images, layers = features(*case[:3], cache, data, weights)
            began = time.process_time()
            observed = labels_of(images, layers, *case[3:])
            layered = case[0] in PHOTOGRAPHS and case[1] == LITE and case[3:5] in NOISES[:2]
            if (case[4] and not layered) or (case[0], case[2]) in FEWER:  # all layers where they are compared
                layers = {LAST: layers[LAST]}
            train = observed >= 0
            record = {
                "candidates": measure(images, layers, observed),
                "wrong": float((observed[train] != images.fine[train]).mean()),
                "train": int(train.sum()),
                "test": int(images.tests.sum()),
            }
            files.write_json(path, record | {"seconds": time.process_time() - began})
            print(f"{path.name}: {time.process_time() - began:.0f} s of processor time", flush=True)
        records[case] = files.read_json(path)
    return records


Record = Mapping[str, Any]


def classes_of(records: Sequence[Record], pick: Callable[[Record], Record], what: str = "test") -> np.ndarray:
    """Per test class its queries, R@1 and MAP@R in percent, of one candidate of each record: (seeds, K, 3)."""
    return np.array([pick(record)[f"{what} classes"] for record in records]) * [1, 100, 100]


def averaged(values: np.ndarray) -> np.ndarray:
    """R@1 and MAP@R (2,) of (seeds, K, 3), each query counting once."""
    return (values[..., 1:] * values[..., :1]).sum((0, 1)) / values[..., 0].sum()


def gain(first: np.ndarray, second: np.ndarray, draws: int = 2000) -> np.ndarray:
    """First minus second (2,), with the 95% interval of a bootstrap over test classes and seeds of noise: (2, 3)."""
    draw = np.random.default_rng(0)
    gains = []
    for _ in range(draws):
        seeds, classes = (draw.integers(0, size, size) for size in first.shape[:2])
        gains.append(averaged(first[seeds][:, classes]) - averaged(second[seeds][:, classes]))
    low, high = np.quantile(gains, (0.025, 0.975), axis=0)
    return np.stack([averaged(first) - averaged(second), low, high], axis=1)


def candidate(layer: str, projection: str, views: str) -> Callable[[Record], Record]:
    """Picks a candidate of a record."""

    def pick(record: Record) -> Record:
        wanted = (layer, projection, views)
        return next(one for one in record["candidates"] if (one["layer"], one["projection"], one["views"]) == wanted)

    return pick


def best(
    judge: str = "held out, observed", metric: str = "recall@1", layers: bool = True, surely: bool = True
) -> Callable[[Record], Record]:
    """Picks what held-out training classes choose by a metric; without `layers` only among those of the last.

    `surely`: as `free.choose`, whitening of all views stays unless another is surely better.
    """
    place = METRICS.index(metric)

    def of_classes(one: Record) -> np.ndarray:
        return np.concatenate([np.array(half)[:, 1 + place] for half in one[f"{judge} classes"]])

    def pick(record: Record) -> Record:
        able = [one for one in record["candidates"] if judge in one and (layers or one["layer"] == LAST)]
        views = max((one["views"] for one in able), key=["one", "mirror"].index)
        usual = candidate(LAST, "whitening", views)(record)
        better = [one for one in able if not surely or free.surely_above(of_classes(one), of_classes(usual))]
        return max(better, key=lambda one: float(np.mean([half[place] for half in one[judge]])), default=usual)

    return pick


def pages(records: Mapping[tuple[Any, ...], Record]) -> str:
    """The tables of `docs/benchmarks/regime.md`, of the cases that there are."""
    by_case: dict[tuple[Any, ...], list[Record]] = {}
    for (*case, _), record in records.items():
        by_case.setdefault(tuple(case), []).append(record)
    return "\n\n".join([steps_table(by_case), labels_table(by_case), networks_table(by_case)])


def steps_table(by_case: Mapping[tuple[Any, ...], Sequence[Record]]) -> str:
    """What each step adds to those before it, with correct labels."""
    lines = ["| step, correct labels | data | R@1 | MAP@R | gain in R@1 | gain in MAP@R | chosen |", "|" + "---|" * 7]
    for name, usual in (("cars", 224), ("flowers", 224), ("cifar100", 96), *((name, 96) for name in LETTERS)):
        views = "one" if name in LETTERS else "mirror"
        steps: list[tuple[str, int, Callable[[Record], Record], str]] = [
            ("features, 128 pixels", 128, candidate(LAST, "none", "one"), "test"),
            ("160 pixels", 160, candidate(LAST, "none", "one"), "test"),
            (f"{usual} pixels", usual, candidate(LAST, "none", "one"), "test"),
            ("whitening", usual, candidate(LAST, "whitening", "one"), "test"),
            ("both views", usual, candidate(LAST, "whitening", views), "test"),
            ("a layer, a pooling and a projection, chosen", usual, best(surely=False), "test"),
            ("neighbours in the gallery", usual, candidate(LAST, "whitening", views), "re-ranked"),
        ]
        before = None
        for step, pixels, pick, what in steps:
            records = by_case.get((name, LITE, pixels, *CLEAN))
            if records is None or (step, views) == ("both views", "one"):
                continue
            scores = classes_of(records, pick, what)
            chosen = pick(records[0])["name"] if step.endswith("chosen") else ""
            lines.append(f"| {step} | {name} | {cells(scores, before)} | {chosen} |")
            before = scores if not step.endswith("chosen") else before
    return "\n".join(lines)


def labels_table(by_case: Mapping[tuple[Any, ...], Sequence[Record]]) -> str:
    """The projections of the last layer, and what observed labels choose, by kinds of labels."""
    lines = ["| labels | data | features | components | whitened | LDA | free | free over features | of all layers |"]
    lines += ["|" + "---|" * 9]
    for (name, network, pixels, model, _), records in by_case.items():
        if network != LITE or (name, pixels) in FEWER:
            continue
        views = "one" if name in LETTERS else "mirror"
        each = [
            classes_of(records, candidate(LAST, kind, views)) for kind in ("none", "components", "whitening", "lda")
        ]
        free_ones, of_all = classes_of(records, best(layers=False)), best()
        texts = [" / ".join(f"{value:.1f}" for value in averaged(scores)) for scores in (*each, free_ones)]
        layered = any(one["layer"] != LAST for one in records[0]["candidates"])
        other = " / ".join(f"{value:.1f}" for value in averaged(classes_of(records, of_all))) if layered else ""
        chosen = ", ".join(dict.fromkeys(of_all(record)["name"] for record in records)) if layered else ""
        wrong = np.mean([record["wrong"] for record in records])
        more = ", ".join(interval(row) for row in gain(free_ones, each[0]))
        lines.append(
            f"| {model}, {100 * wrong:.0f}% wrong, {len(records)} seeds | {name} | {' | '.join(texts)} | {more} "
            f"| {other} {chosen} |"
        )
    return "\n".join(lines)


def networks_table(by_case: Mapping[tuple[Any, ...], Sequence[Record]]) -> str:
    """Networks, each at its own pixels and with both views: its features, and whitened, by kinds of labels."""
    lines = ["| network | pixels | data | labels | features | whitened | gain over Lite0, whitened |", "|" + "---|" * 7]
    for (name, network, pixels, model, rate), records in by_case.items():
        if name not in PHOTOGRAPHS or (model, rate) not in (CLEAN, WRONG) or (name, pixels) in FEWER:
            continue
        plain, whitened = (classes_of(records, candidate(LAST, kind, "mirror")) for kind in ("none", "whitening"))
        texts = [" / ".join(f"{value:.1f}" for value in averaged(scores)) for scores in (plain, whitened)]
        lite = classes_of(by_case[name, LITE, 224, model, rate], candidate(LAST, "whitening", "mirror"))
        more = ", ".join(interval(row) for row in gain(whitened, lite)) if network != LITE else ""
        lines.append(f"| {network} | {pixels} | {name} | {rate:.0%} | {' | '.join(texts)} | {more} |")
    return "\n".join(lines)


def cells(after: np.ndarray, before: np.ndarray | None) -> str:
    """`67.6 | 16.4 | +2.1 [1.0, 3.2] | +1.0 [0.7, 1.3]`."""
    scores = " | ".join(f"{value:.1f}" for value in averaged(after))
    return f"{scores} | {' | '.join(map(interval, gain(after, before))) if before is not None else ' | '}"


def interval(row: np.ndarray) -> str:
    return f"{row[0]:+.1f} [{row[1]:.1f}, {row[2]:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder with cars, flowers, cifar100n")
    parser.add_argument(
        "--weights", type=Path, help="the folder with mobilenet_*.safetensors; default: pipelines/weights"
    )
    parser.add_argument("--seeds", type=int, default=2, help="of wrong labels")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--stored", action="store_true", help="compute nothing: the tables of the results in CACHE")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(pages(results(args.cache, args.data, args.seeds, args.only, args.stored, args.weights)))


if __name__ == "__main__":
    main()
