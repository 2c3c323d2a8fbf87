"""Two networks side by side, of which one or both are trained (docs/benchmarks/regime.md).

    python benchmarks/free.py CACHE --data DATA --only cars
    python benchmarks/beside.py cars CACHE STORE --data DATA

The unit embeddings of two networks in one vector: each is either whitened features of both views, or the trained model
that a study left in STORE (of the seed that validation chose). Nothing is fitted to the joined vectors. Gains are over
both networks whitened; intervals (95%) are a bootstrap over test classes, for the model and the labels at hand.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import free as steps
import numpy as np
import pandas as pd

from dml import evaluation
from dml.data.packing import open_packed
from dml.training import free
from dml.training.model_files import TrainedEmbedder

STUDIES = {
    "cars": {steps.LITE: "regime-cars", steps.SMALL: "regime-cars-whole"},
    "flowers": {steps.LITE: "regime-flowers"},
}


def trained(study: str, rate: float, store: Path) -> tuple[Path, int] | None:
    """The model folder of a study at a rate of uniform noise, and its seed; None if the study has no such rate."""
    trials = pd.read_parquet(f"docs/results/{study}/trials.parquet")
    trials = trials[(trials["phase"] == "confirm") & (trials["noise"] == "uniform") & (trials["rate"] == rate)]
    for trial in trials[trials["loss"] == "multi_similarity"].itertuples():
        for folder in store.glob(f"trials/{trial.key}*/model"):
            return folder, trial.seed
    return None


def scores_of(embeddings: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Queries, R@1 and MAP@R in percent of each class, (1, K, 3)."""
    per_query = evaluation.evaluate(embeddings, labels, list(steps.METRICS), per_query=True).per_query
    return evaluation.per_class(per_query)[["queries", *steps.METRICS]].to_numpy()[None] * [1, 100, 100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=STUDIES)
    parser.add_argument("cache", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder with cars and flowers")
    parser.add_argument("--weights", type=Path, help="the folder with the weights of MobileNet v1")
    args = parser.parse_args()
    networks = (steps.LITE, steps.SMALL)
    layers = {}
    for network in networks:
        images, layers[network] = steps.features(args.name, network, 224, args.cache, args.data, args.weights)
    tests = np.flatnonzero(images.tests)
    labels, pixels = images.fine[tests], open_packed(args.cache / f"{args.name}-224").images
    print("| labels | first | second | R@1 | MAP@R | gain in R@1 | gain in MAP@R |\n|---|---|---|---|---|---|---|")
    for rate in (0.0, 0.4):
        models = {network: trained(study, rate, args.store) for network, study in STUDIES[args.name].items()}
        seed = next((model[1] for model in models.values() if model), 0)
        observed = steps.labels_of(images, layers[steps.LITE], "uniform", rate, seed)
        train = np.flatnonzero(observed >= 0)
        embeddings = {}
        for network in networks:
            features = free.unit(layers[network][steps.LAST])
            only = free.Candidate(steps.LAST, "whitening", "mirror")
            fitted = free.candidates({steps.LAST: features[train]}, observed[train], None, only)
            embeddings[network, "whitened"] = free.embedded(*next(iter(fitted)), features[tests])
            if model := models.get(network):
                embeddings[network, "trained"] = TrainedEmbedder(model[0])(np.asarray(pixels[images.rows[tests]]))
        for part, embedding in embeddings.items():
            print(
                f"| {rate:.0%} | {' '.join(part)} | | {steps.cells(scores_of(embedding, labels), None)} |", flush=True
            )
        base = None
        for first, second in itertools.combinations(embeddings, 2):
            if first[0] != second[0]:
                scores = scores_of(np.concatenate([embeddings[first], embeddings[second]], axis=1), labels)
                base = scores if base is None else base
                names = f"{' '.join(first)} | {' '.join(second)}"
                print(f"| {rate:.0%} | {names} | {steps.cells(scores, base)} |", flush=True)


if __name__ == "__main__":
    main()
