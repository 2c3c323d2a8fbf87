"""The shrinkage of whitening: is it 1, or chosen, and by what? Computed with numpy, not by `dml`.

    python benchmarks/shrinkage.py CACHE cars --data DATA [--seeds 3 4 5]

CACHE is that of `benchmarks/free.py`, which computes the features. Whitening of the last layer of EfficientNet-Lite0,
fitted with correct labels and with 40% uniform wrong ones (draws of this script). Ways to set its shrinkage: 1, as
`dml` does; what halves of the observed classes choose by MAP@R, as it did, or by R@1; and `total`, 1 with the
covariance of all rows, so no label is used. On three folds of the training classes by their true labels, which the
decision was made on, then on test classes with intervals (95%) over 1: a bootstrap over classes and seeds. R@1 / MAP@R
in percent.
"""

import argparse
from pathlib import Path

import free as steps
import numpy as np
import pandas as pd

SHRINKAGES, LAST, RATE, MOST = (0.1, 0.3, 1.0, 3.0, 10.0), steps.LAST, 0.4, 3300
PIXELS = {"cars": 224, "flowers": 224, "cifar100": 96, "numbers": 96, "omniglot": 96, "mnist": 96}


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def wrong(labels, rate, random):
    """Labels of which a share is another class, drawn evenly."""
    classes, codes = np.unique(labels, return_inverse=True)
    hit = random.permutation(len(labels))[: round(rate * len(labels))]
    codes[hit] = (codes[hit] + random.integers(1, len(classes), len(hit))) % len(classes)
    return classes[codes]


def fitted(rows, labels, shrinkage):
    """Mean (D,) and whitening (D, D) by the covariance within classes; of labels that are all equal, of all rows."""
    means = pd.DataFrame(rows).groupby(labels).transform("mean").to_numpy()
    covariance = (rows - means).T @ (rows - means) / len(rows)
    ridge = shrinkage * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    return rows.mean(axis=0), np.linalg.inv(np.linalg.cholesky(covariance + ridge))


def embedded(fit, views):
    """(n, V, D) -> the unit mean of the unit whitened views (n, D)."""
    return unit(unit((views - fit[0]) @ fit[1].T).sum(axis=1)).astype(np.float32)


def scores(embeddings, labels):
    """Of each class its queries, R@1 and MAP@R in percent, (K, 3)."""
    likeness = embeddings @ embeddings.T
    np.fill_diagonal(likeness, -2)
    codes = np.unique(labels, return_inverse=True)[1]
    mates = np.bincount(codes)[codes] - 1
    ranked = np.argsort(-likeness, axis=1)[:, : mates.max()]
    right, ranks = codes[ranked] == codes[:, None], np.arange(mates.max())
    precision = right * np.cumsum(right, axis=1) / (ranks + 1) * (ranks < mates[:, None])
    each = np.stack([np.ones(len(codes)), 100 * right[:, 0], 100 * precision.sum(axis=1) / mates], axis=1)
    sums = pd.DataFrame(each).groupby(codes).sum().to_numpy()
    return np.column_stack([sums[:, 0], sums[:, 1:] / sums[:, :1]])


def mean(values):
    return (values[..., 1:] * values[..., :1]).sum((0, 1)) / values[..., 0].sum()


def ways(rows, labels):
    """The projections by the names of the ways; halves of the classes choose on the other half, one view each."""
    halves, found = np.unique(labels, return_inverse=True)[1] % 2, {s: np.zeros(2) for s in SHRINKAGES}
    for fit, test in ((0, 1), (1, 0)):
        for shrinkage in SHRINKAGES:
            one = fitted(rows[halves == fit], labels[halves == fit], shrinkage)
            embeddings = embedded(one, rows[halves == test][:, None])
            found[shrinkage] += mean(scores(embeddings, labels[halves == test])[None])
    by_map, by_recall = (max(found, key=lambda s: found[s][k]) for k in (1, 0))
    return {
        "1": fitted(rows, labels, 1.0),
        "chosen by MAP@R": fitted(rows, labels, by_map),
        "chosen by R@1": fitted(rows, labels, by_recall),
        "total, 1": fitted(rows, np.zeros(len(rows)), 1.0),
    }


def evenly(labels, most=MOST):
    """Every second, third, ... position, so that at most so many are left."""
    return np.arange(0, len(labels), -(-len(labels) // most))


def in_folds(views, observed, correct, folds=3):
    """By the names of the ways their R@1 / MAP@R (2,), the mean over folds of training classes."""
    found = {}
    for fold in range(folds):
        held_out = np.unique(correct)[fold::folds]
        tested = np.isin(correct, held_out)
        fit = ~tested & ~np.isin(observed, held_out)
        for way, one in ways(views[fit, 0].astype(np.float64), observed[fit]).items():
            found.setdefault(way, []).append(mean(scores(embedded(one, views[tested]), correct[tested])[None]))
    return {way: np.mean(each, axis=0) for way, each in found.items()}


def shown(values):
    return " / ".join(f"{value:.1f}" for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("name", choices=PIXELS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4, 5])
    args = parser.parse_args()
    images, layers = steps.features(args.name, steps.LITE, PIXELS[args.name], args.cache, args.data)
    views, labels = unit(layers[LAST]), images.fine
    kept, tests = (np.flatnonzero(part)[evenly(labels[part])] for part in (images.trains, images.tests))
    draw, correct = np.random.default_rng(0), labels[kept]
    for rate in (0.0, RATE):
        found = {}
        for seed in args.seeds if rate else args.seeds[:1]:
            observed = wrong(correct, rate, np.random.default_rng(seed))
            for way, values in in_folds(views[kept], observed, correct).items():
                print(f"{rate:.0%} wrong, seed {seed}, folds of training classes, {way}: {shown(values)}", flush=True)
            for way, one in ways(views[kept, 0].astype(np.float64), observed).items():
                found.setdefault(way, []).append(scores(embedded(one, views[tests]), labels[tests]))
        values = {way: np.array(each) for way, each in found.items()}
        size, classes = values["1"].shape[:2]
        for way, each in values.items():
            draws = [(draw.integers(0, size, size), draw.integers(0, classes, classes)) for _ in range(2000)]
            gains = [mean(each[s][:, k]) - mean(values["1"][s][:, k]) for s, k in draws]
            low, high = np.quantile(gains, (0.025, 0.975), axis=0)
            more = zip(mean(each) - mean(values["1"]), low, high, strict=True)
            text = " / ".join(f"{g:+.1f} [{a:.1f}, {b:.1f}]" for g, a, b in more)
            print(f"{rate:.0%} wrong, test classes, {way}: {shown(mean(each))}, over 1 {text}", flush=True)


if __name__ == "__main__":
    main()
