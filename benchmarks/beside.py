"""Two networks side by side in four folds, whitened, and with one of them trained (docs/benchmarks/regime.md).

    python benchmarks/free.py CACHE --data DATA --only cars
    python benchmarks/beside.py CACHE STORE --data DATA [--only cifar100]

The unit embeddings of two networks in one vector, with correct labels: whitened features of both views, or the models
that a study left in STORE, on Cars those of generalised softmax of `regime-cars-epochs`, on CIFAR-100 those of
Proxy-Anchor of `regime-human-folds`. Of CIFAR-100, 100 training images of each class fit and all test images test.
Nothing is fitted to the joined vectors. Intervals (95%) are over folds, whose variance is corrected (Nadeau and Bengio
2003).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import free as steps
import numpy as np
import pandas as pd

from dml import evaluation
from dml.data import splits
from dml.data.packing import open_packed
from dml.statistics import summary
from dml.training import free
from dml.training.closed_form import some
from dml.training.model_files import TrainedEmbedder

FOLDS = 4
TRAINED = {  # pixels, study and loss
    "cars": (224, "regime-cars-epochs", "generalized_softmax"),
    "cifar100": (96, "regime-human-folds", "proxy_anchor"),
}


def trained(store: Path, study: str, loss: str) -> dict[int, Path]:
    """The folder of the model of each fold."""
    trials = pd.read_parquet(f"docs/results/{study}/trials.parquet").query("noise == 'uniform' and rate == 0")
    trials = trials[(trials["loss"] == loss) & trials.get("filter", pd.Series(index=trials.index)).isna()]
    return {trial.split: next(store.glob(f"trials/{trial.key}*/model")) for trial in trials.itertuples()}


def all_classes(index: pd.DataFrame, source: Any) -> steps.Images:
    """All images, but at most 10,000 of those that are for training."""
    fine, training = index["fine"].to_numpy(np.int64), (index["part"] == "train").to_numpy()
    fits = np.flatnonzero(training)
    rows = np.union1d(fits[some(fine[fits], steps.TRAINED)], np.flatnonzero(~training))
    none = np.zeros(len(rows), dtype=bool)  # splits say what trains
    return steps.Images(rows, fine[rows], np.full(len(rows), -1), none, none, none)


def scores_of(embeddings: np.ndarray, labels: np.ndarray) -> list[float]:
    """R@1 and MAP@R in percent."""
    scores = evaluation.evaluate(embeddings, labels, list(steps.METRICS))
    return [100 * scores[metric] for metric in steps.METRICS]


def gain(scores: np.ndarray, base: np.ndarray) -> str:
    """The gains of each metric (folds, 2), with intervals."""
    gains = (summary(column, overlap=1 / (FOLDS - 1)) for column in (scores - base).T)
    return " / ".join(f"{one.mean:+.1f} [{one.low:.1f}, {one.high:.1f}]" for one in gains)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder with cars or cifar100")
    parser.add_argument("--only", choices=TRAINED, default="cars")
    parser.add_argument("--weights", type=Path, help="the folder with the weights of MobileNet v1")
    args = parser.parse_args()
    given, (pixels, study, loss) = {}, TRAINED[args.only]
    models = trained(args.store, study, loss)
    for network in (steps.LITE, steps.SMALL):
        folder = args.cache / "all-classes" if args.only == "cifar100" else args.cache
        found = steps.features(args.only, network, pixels, folder, args.data, args.weights, all_classes)
        images, given[network] = found[0], free.unit(found[1][steps.LAST])
    packed = open_packed(folder / f"{args.only}-{pixels}")
    scores: dict[str, list[list[float]]] = {}
    source, _ = steps.source_of(args.only, folder, args.data)
    for fold, split in enumerate(splits.make_several(packed.index, source, FOLDS, folds=True)):
        role = split["final"].to_numpy().astype(str)[images.rows]
        train, tests = role == "train", role == "test"
        only, embedded = free.Candidate(steps.LAST, "whitening", "mirror"), {}
        for network, features in given.items():
            fitted = free.candidates({steps.LAST: features[train]}, images.fine[train], None, only)
            embedded[network] = free.embedded(*next(iter(fitted)), features[tests])
        lite, small = embedded.values()
        ways = {"MobileNet v1, whitened": small, "Lite0, whitened": lite}
        ways["both, whitened"] = np.concatenate([lite, small], axis=1)
        own = TrainedEmbedder(models[fold])(np.asarray(packed.images[images.rows[tests]]))
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        ways |= {"MobileNet v1, trained": own, "Lite0 whitened, v1 trained": np.concatenate([lite, own], axis=1)}
        for way, embeddings in ways.items():
            scores.setdefault(way, []).append(scores_of(embeddings, images.fine[tests]))
    print("| | R@1 / MAP@R | over MobileNet v1, whitened | over both, whitened |\n|---|---|---|---|")
    alone, _, both, *_ = (np.array(each) for each in scores.values())
    for way, each in scores.items():
        of_both = " / ".join(f"{mean:.1f}" for mean in np.mean(each, axis=0))
        print(f"| {way} | {of_both} | {gain(np.array(each), alone)} | {gain(np.array(each), both)} |")


if __name__ == "__main__":
    main()
