"""What training adds to what is free, with the network's own pixels and both views (docs/benchmarks/regime.md).

    dml run regime-flowers
    python benchmarks/free.py CACHE --data DATA
    python benchmarks/regime.py CACHE STORE --data DATA

Compares the confirmed trials of `regime-flowers` in STORE with whitened features of the last layer and of the layer
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

CASES = (("uniform", 0.0), ("uniform", 0.4), ("similarity", 0.4))
LAYERS = (steps.LAST, "before conv_head")
SEEDS = (0, 1, 2)


def trained(store: Path, table: Path) -> dict[tuple[str, float, int], np.ndarray]:
    """By noise, rate and seed: queries, R@1 and MAP@R in percent of each test class, (K, 3)."""
    found = {}
    trials = pd.read_parquet(table)
    chosen = trials[(trials["phase"] == "confirm") & trials["loss"].str.startswith("multi_similarity")]
    for row in chosen.itertuples():
        own = np.load(next(store.glob(f"trials/{row.key}*/classes.npz")))  # published keys are shortened
        columns = (own["test/fine/queries"], 100 * own["test/fine/recall@1"], 100 * own["test/fine/map@r"])
        found[row.noise, float(row.rate), row.seed] = np.stack(columns, axis=1)
    return found


def whitened(images: steps.Images, layers: dict[str, np.ndarray], layer: str, observed: np.ndarray) -> np.ndarray:
    """As `trained`, of the whitened features of both views of a layer."""
    train, test = np.flatnonzero(observed >= 0), np.flatnonzero(images.tests)
    classes = np.unique(observed[train], return_inverse=True)[1]
    fitted = free.candidates({layer: free.unit(layers[layer][train])}, classes, None)
    one, projection = next(c for c in fitted if (c[0].projection, c[0].views) == ("whitening", "mirror"))
    embeddings = free.embedded(one, projection, free.unit(layers[layer][test]))
    scores = evaluation.evaluate(embeddings, images.fine[test], list(steps.METRICS), keep="return")
    return evaluation.per_class(scores.per_query)[["queries", *steps.METRICS]].to_numpy() * [1, 100, 100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder with cars and flowers")
    args = parser.parse_args()
    images, layers = steps.features("flowers", "efficientnet_lite0", 224, args.cache, args.data)
    scores = trained(args.store, Path("docs/results/regime-flowers/trials.parquet"))
    print("| labels | free | trained | gain in R@1 | gain in MAP@R |\n|---|---|---|---|---|")
    for model, rate in CASES:
        own = np.array([scores[model, rate, seed] for seed in SEEDS])
        for layer in LAYERS:
            observed = [steps.labels_of(images, layers, model, rate, seed) for seed in SEEDS]
            other = np.array([whitened(images, layers, layer, labels) for labels in observed])
            each = [" / ".join(f"{value:.1f}" for value in steps.averaged(values)) for values in (other, own)]
            gains = " | ".join(map(steps.interval, steps.gain(own, other)))
            print(f"| {model} {rate}, {layer} | {' | '.join(each)} | {gains} |", flush=True)


if __name__ == "__main__":
    main()
