"""A second look at whitening with wrong labels, without `dml`: how much of what they cost does the shrinkage cost?

    python benchmarks/free.py CACHE --data DATA --only cars
    python benchmarks/second_looks/shrinkage.py CACHE cars --seeds 3 4 5

Whitening of the last layer of EfficientNet-Lite0 at 224 pixels, both views, fitted with correct labels and with 40%
uniform wrong ones (draws of this script). Its shrinkage is 1, or what halves of observed classes choose by MAP@R, as
`dml.training.closed_form` does. `total`: the covariance of all rows, not that within classes, so no label is used. Only
numpy and pandas; R@1 / MAP@R in percent on test classes, intervals (95%) a bootstrap over them and over seeds.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

SHRINKAGES, LAST, RATE = (0.1, 0.3, 1.0, 3.0, 10.0), 1280, 0.4


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


def chosen(rows, labels):
    """The shrinkage with the highest mean MAP@R on the half of the classes that it is not fitted to."""
    halves, found = np.unique(labels, return_inverse=True)[1] % 2, dict.fromkeys(SHRINKAGES, 0.0)
    for fit, test in ((0, 1), (1, 0)):
        for shrinkage in SHRINKAGES:
            one = fitted(rows[halves == fit], labels[halves == fit], shrinkage)
            embeddings = embedded(one, rows[halves == test][:, None])
            found[shrinkage] += mean(scores(embeddings, labels[halves == test])[None])[1]
    return max(found, key=found.get)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("name", choices=("cars", "flowers"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4, 5])
    args = parser.parse_args()
    index = pd.read_parquet(args.cache / f"{args.name}-224" / "index.parquet")
    labels = np.concatenate([index.loc[index["part"] == part, "fine"] for part in ("train", "test")])
    count = int((index["part"] == "train").sum())
    file = args.cache / f"{args.name}-efficientnet_lite0-224-float32.npy"
    views = unit(np.load(file, mmap_mode="r")[:, :, :LAST])
    rows, correct, tested = views[:count, 0].astype(np.float64), labels[:count], (views[count:], labels[count:])
    blind = scores(embedded(fitted(rows, np.zeros(count), 1.0), tested[0]), tested[1])
    draw = np.random.default_rng(0)
    for rate in (0.0, RATE):
        ways = {"chosen": [], "1": [], "total, 1": []}
        for seed in args.seeds if rate else args.seeds[:1]:
            observed = wrong(correct, rate, np.random.default_rng(seed))
            shrinkage = chosen(rows, observed)
            print(f"{rate:.0%} wrong, seed {seed}: chosen shrinkage {shrinkage}", flush=True)
            for way, value in (("chosen", shrinkage), ("1", 1.0)):
                ways[way].append(scores(embedded(fitted(rows, observed, value), tested[0]), tested[1]))
            ways["total, 1"].append(blind)
        values = {way: np.array(each) for way, each in ways.items()}
        size, classes = values["chosen"].shape[:2]
        for way, each in values.items():
            draws = [(draw.integers(0, size, size), draw.integers(0, classes, classes)) for _ in range(2000)]
            gains = [mean(each[s][:, k]) - mean(values["chosen"][s][:, k]) for s, k in draws]
            text = " / ".join(f"{value:.1f}" for value in mean(each))
            gain = mean(each) - mean(values["chosen"])
            low, high = np.quantile(gains, (0.025, 0.975), axis=0)
            shown = " / ".join(f"{g:+.1f} [{a:.1f}, {b:.1f}]" for g, a, b in zip(gain, low, high, strict=True))
            print(f"{rate:.0%} wrong, shrinkage {way}: {text}, over chosen {shown}", flush=True)


if __name__ == "__main__":
    main()
