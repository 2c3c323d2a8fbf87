"""Two networks side by side in four folds, whitened, and with one of them trained (docs/benchmarks/regime.md).

    python benchmarks/free.py CACHE --data DATA --only cars
    python benchmarks/beside.py CACHE STORE --data DATA

The unit embeddings of two networks in one vector, on Cars with correct labels: whitened features of both views, or
the models of generalised softmax that the study `regime-cars-epochs` left in STORE. Nothing is fitted to the joined
vectors. Intervals (95%) are over folds, whose variance is corrected (Nadeau and Bengio 2003).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import free as steps
import numpy as np
import pandas as pd

from dml import evaluation
from dml.data import splits
from dml.data.packing import open_packed
from dml.statistics import summary
from dml.training import free
from dml.training.model_files import TrainedEmbedder

STUDY, FOLDS = "regime-cars-epochs", 4


def trained(store: Path) -> dict[int, Path]:
    """The folder of the model of each fold."""
    trials = pd.read_parquet(f"docs/results/{STUDY}/trials.parquet").query("noise == 'uniform' and rate == 0")
    trials = trials[(trials["loss"] == "generalized_softmax") & trials["filter"].isna()]
    return {trial.split: next(store.glob(f"trials/{trial.key}*/model")) for trial in trials.itertuples()}


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
    parser.add_argument("--data", type=Path, required=True, help="the folder with cars")
    parser.add_argument("--weights", type=Path, help="the folder with the weights of MobileNet v1")
    args = parser.parse_args()
    given = {}
    for network in (steps.LITE, steps.SMALL):
        images, layers = steps.features("cars", network, 224, args.cache, args.data, args.weights)
        given[network] = free.unit(layers[steps.LAST])[np.argsort(images.rows)]
    packed, models = open_packed(args.cache / "cars-224"), trained(args.store)
    scores: dict[str, list[list[float]]] = {}
    source, _ = steps.source_of("cars", args.cache, args.data)
    fine = packed.index["fine"].to_numpy()
    for fold, split in enumerate(splits.make_several(packed.index, source, FOLDS, folds=True)):
        tests = split["final"].to_numpy() == "test"
        only, embedded = free.Candidate(steps.LAST, "whitening", "mirror"), {}
        for network, features in given.items():
            fitted = free.candidates({steps.LAST: features[~tests]}, fine[~tests], None, only)
            embedded[network] = free.embedded(*next(iter(fitted)), features[tests])
        lite, small = embedded.values()
        own = TrainedEmbedder(models[fold])(np.asarray(packed.images[np.flatnonzero(tests)]))
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        ways = {"MobileNet v1, whitened": small, "both, whitened": np.concatenate([lite, small], axis=1)}
        ways |= {"MobileNet v1, trained": own, "Lite0 whitened, v1 trained": np.concatenate([lite, own], axis=1)}
        for way, embeddings in ways.items():
            scores.setdefault(way, []).append(scores_of(embeddings, fine[tests]))
    print("| | R@1 / MAP@R | over MobileNet v1, whitened | over both, whitened |\n|---|---|---|---|")
    alone, both, *_ = (np.array(each) for each in scores.values())
    for way, each in scores.items():
        of_both = " / ".join(f"{mean:.1f}" for mean in np.mean(each, axis=0))
        print(f"| {way} | {of_both} | {gain(np.array(each), alone)} | {gain(np.array(each), both)} |")


if __name__ == "__main__":
    main()
