"""What training adds to what is free, with the network's own pixels and both views (docs/benchmarks/regime.md).

    dml run regime-flowers
    python benchmarks/free.py CACHE --data DATA
    python benchmarks/regime.py regime-flowers CACHE STORE --data DATA

Compares the confirmed trials of a study in STORE with whitened features of the last layer and of the layer
that held-out training classes choose with correct labels. Differences are paired by seed; intervals (95%) are a
bootstrap over test classes and seeds. They leave out the search, which the study's own page has.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import free as steps
import numpy as np
import pandas as pd

from dml import evaluation
from dml.training import free

LAYERS = (steps.LAST, "before conv_head")
DATA = {"regime-flowers": ("flowers", 224), "regime-cars": ("cars", 224), "regime-human": ("cifar100", 96)}


def trained(store: Path, table: Path) -> dict[tuple[str, float, int], np.ndarray]:
    """By noise, rate and seed: queries, R@1 and MAP@R in percent of each test class, (K, 3)."""
    scores = {}
    trials = pd.read_parquet(table)
    chosen = trials[(trials["phase"] == "confirm") & trials["loss"].str.startswith("multi_similarity")]
    for row in chosen.itertuples():
        saved = np.load(next(store.glob(f"trials/{row.key}*/classes.npz")))  # published keys are shortened
        columns = (saved["test/fine/queries"], 100 * saved["test/fine/recall@1"], 100 * saved["test/fine/map@r"])
        scores[row.noise, float(row.rate), row.seed] = np.stack(columns, axis=1)
    return scores


def whitened(images: steps.Images, layers: dict[str, np.ndarray], layer: str, observed: np.ndarray) -> np.ndarray:
    """As `trained`, of the whitened features of both views of a layer."""
    train, test = np.flatnonzero(observed >= 0), np.flatnonzero(images.tests)
    classes = np.unique(observed[train], return_inverse=True)[1]
    fitted = free.candidates({layer: free.unit(layers[layer][train])}, classes, None)
    one, projection = next(c for c in fitted if (c[0].projection, c[0].views) == ("whitening", "mirror"))
    embeddings = free.embedded(one, projection, free.unit(layers[layer][test]))
    scores = evaluation.evaluate(embeddings, images.fine[test], list(steps.METRICS), per_query=True)
    return evaluation.per_class(scores.per_query)[["queries", *steps.METRICS]].to_numpy() * [1, 100, 100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=DATA)
    parser.add_argument("cache", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder with cars, flowers, cifar100n")
    args = parser.parse_args()
    name, pixels = DATA[args.study]
    images, layers = steps.features(name, "efficientnet_lite0", pixels, args.cache, args.data)
    scores = trained(args.store, Path(f"docs/results/{args.study}/trials.parquet"))
    print("| labels | free | trained | gain in R@1 | gain in MAP@R |\n|---|---|---|---|---|")
    for model, rate in dict.fromkeys(case[:2] for case in scores):
        seeds = [seed for *case, seed in scores if case == [model, rate]]
        network = np.array([scores[model, rate, seed] for seed in seeds])
        for layer in LAYERS:
            given = ("given", None) if model == "given" and rate else (model, rate)
            given = ("uniform", 0.0) if given == ("given", 0.0) else given
            observed = [steps.labels_of(images, layers, *given, seed) for seed in seeds]
            other = np.array([whitened(images, layers, layer, labels) for labels in observed])
            each = [" / ".join(f"{value:.1f}" for value in steps.averaged(values)) for values in (other, network)]
            gains = " | ".join(map(steps.interval, steps.gain(network, other)))
            print(f"| {model} {rate}, {layer} | {' | '.join(each)} | {gains} |", flush=True)


if __name__ == "__main__":
    main()
