"""What to do with an audit's suspects: is a person's hour worth more than one of training? (docs/benchmarks/regime.md)

    python benchmarks/free.py CACHE --data DATA
    python benchmarks/acting.py CACHE --data DATA [--seeds 3]

The features are whitened (last layer, both views) with the training labels as given, and after each way to act on the
suspects of `dml.audit` of the same features: leave them out, take the suggested labels, or look at some of them. Who
looks knows the true class, and leaves an image out that is of none of the training classes. Looking at as many images
drawn at random is the control. Gains are over labels as given; intervals (95%) are a bootstrap over test classes and
seeds of wrong labels, or over test classes alone where people gave the labels.

`--tables FOLDER` writes the files of the studies `regime-cars-unsuspected` and `regime-cars-acted` there instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import free as steps
import numpy as np
import pandas as pd
import torch

from dml import audit, evaluation
from dml.training import free
from dml.training.closed_form import apply, fit

AS_GIVEN = "as given"
CASES = (
    ("cars", 224, steps.NOISES[:2]),
    ("flowers", 224, steps.NOISES[:2]),
    ("cifar100", 96, (steps.HUMAN,)),
)


def arms(vectors: np.ndarray, given: np.ndarray, true: np.ndarray, seed: int) -> Iterator[tuple[str, np.ndarray, int]]:
    """Ways to act: (name, labels with -1 for images left out, images looked at)."""
    audited = audit.audit({"features": apply(fit("components", vectors, given, steps.SHORT), vectors)}, given)
    suspects = audited.suspects()
    order = np.flatnonzero(suspects)[np.argsort(-audited.score[suspects], kind="stable")]
    correct = np.where(np.isin(true, np.unique(given)), true, -1)
    half, blind = order[: len(order) // 2], np.random.default_rng(seed).permutation(len(given))[: len(order) // 2]

    def changed(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        result = given.copy()
        result[rows] = labels[rows]
        return result

    yield AS_GIVEN, given, 0
    yield "without suspects", changed(order, np.full_like(given, -1)), 0
    yield "suggested labels", changed(order, np.asarray(audited.suggested)), 0
    yield "the likelier half of the suspects looked at", changed(half, correct), len(half)
    yield "as many at random looked at", changed(blind, correct), len(blind)
    yield "all suspects looked at", changed(order, correct), len(order)
    yield "all images looked at", correct, len(given)


def scores(train: np.ndarray, labels: np.ndarray, tested: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Per test class its queries, R@1 and MAP@R in percent, of whitened features (n, V, D): (K, 3)."""
    kept = labels >= 0
    codes = np.unique(labels[kept], return_inverse=True)[1]
    fits = free.candidates({steps.LAST: train[kept]}, codes, None)
    one, projection = next(c for c in fits if (c[0].projection, c[0].views) == ("whitening", "mirror"))
    result = evaluation.evaluate(free.embedded(one, projection, tested), classes, list(steps.METRICS), per_query=True)
    return evaluation.per_class(result.per_query)[["queries", *steps.METRICS]].to_numpy() * [1, 100, 100]


def write_tables(folder: Path, cache: Path, data: Path, weights: Path | None) -> None:
    """Labels (index, label; -1 for images left out) for the studies that train after each way to act.

    `cars-uniform-0.csv` to `-2.csv`: three draws of uniform noise without the suspects of an audit of Lite0's features;
    `cars-uniform-0-as-given.csv` and the like: with them.
    `cars-as-given.csv` and the like: wrong labels of similar classes, after each way; MobileNet's features are audited.
    `cifar100-as-given.csv` and the like: people's labels, of 10,000 images, that are training classes; Lite0's are.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def write(name: str, images: steps.Images, train: np.ndarray, way: tuple[str, np.ndarray, int]) -> None:
        arm, labels, looked = way
        wrong = (labels != images.fine[train])[labels >= 0].mean()
        print(f"{name}, {arm}: {wrong:.1%} of {(labels >= 0).sum()} labels are wrong, {looked} images looked at")
        table = pd.Series(-1, pd.RangeIndex(images.rows.max() + 1, name="index"), name="label")
        table[images.rows[train]] = labels
        table.to_csv(folder / f"{name}.csv")

    images, layers = steps.features("cars", steps.LITE, 224, cache, data)
    small = steps.features("cars", steps.SMALL, 224, cache, data, weights)[1]
    people, of_people = steps.features("cifar100", steps.LITE, 96, cache, data)
    train = np.flatnonzero(images.trains)
    for draw in range(3):
        given = steps.labels_of(images, layers, *steps.WRONG, draw)[train]
        ways = arms(free.unit(layers[steps.LAST][train, 0]), given, images.fine[train], draw)
        for way in ways:
            if way[0] in (AS_GIVEN, "without suspects"):
                write(f"cars-uniform-{draw}{'-as-given' * (way[0] == AS_GIVEN)}", images, train, way)
    given = steps.labels_of(images, layers, "similarity", 0.4, 0)[train]
    for way in arms(free.unit(small[steps.LAST][train, 0]), given, images.fine[train], 0):
        write(f"cars-{way[0].replace(' ', '-')}", images, train, way)
    train = np.flatnonzero(people.trains & np.isin(people.given, people.fine[people.trains]))
    for way in arms(free.unit(of_people[steps.LAST][train, 0]), people.given[train], people.fine[train], 0):
        write(f"cifar100-{way[0].replace(' ', '-')}", people, train, way)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder with cars, flowers, cifar100n")
    parser.add_argument("--weights", type=Path, help="the folder with the weights of MobileNet v1, for `--tables`")
    parser.add_argument("--seeds", type=int, default=3, help="of wrong labels")
    parser.add_argument(
        "--tables", type=Path, help="write tables for a study into this folder, and compute nothing else"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.tables:
        write_tables(args.tables, args.cache, args.data, args.weights)
        return
    print("| data | labels | wrong | images | looked at | R@1 / MAP@R | gain in R@1 | gain in MAP@R |\n|" + "---|" * 8)
    for name, pixels, noises in CASES:
        images, layers = steps.features(name, steps.LITE, pixels, args.cache, args.data)
        test = np.flatnonzero(images.tests)
        tested = free.unit(layers[steps.LAST][test])
        for noise, rate in noises:
            each: dict[str, list[tuple[np.ndarray, float, int, int]]] = {}
            for seed in range(args.seeds if noise != "given" else 1):
                observed = steps.labels_of(images, layers, noise, rate, seed)
                train = np.flatnonzero(observed >= 0)
                rows, true = free.unit(layers[steps.LAST][train]), images.fine[train]
                for arm, labels, looked in arms(rows[:, 0], observed[train], true, seed):
                    kept = labels >= 0
                    wrong = float((labels[kept] != true[kept]).mean())
                    result = scores(rows, labels, tested, images.fine[test])
                    each.setdefault(arm, []).append((result, wrong, int(kept.sum()), looked))
            start = np.array([run[0] for run in each[AS_GIVEN]])
            for arm, runs in each.items():
                values = np.array([run[0] for run in runs])
                wrong, kept, looked = np.mean([run[1:] for run in runs], axis=0)
                print(
                    f"| {name}, {noise} {rate or ''} | {arm} | {wrong:.0%} | {kept:.0f} | {looked:.0f} "
                    f"| {' / '.join(f'{value:.1f}' for value in steps.averaged(values))} "
                    f"| {' | '.join(map(steps.interval, steps.gain(values, start)))} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
