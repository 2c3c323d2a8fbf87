"""A second look, without `dml`, at what `human-coarse-frozen` and `human-fine-frozen` refute.

    python benchmarks/second_looks/human_frozen.py features.npy index.parquet --seeds 100 101 102

`features.npy` (60,000 x 1280) and `index.parquet` (columns part, fine, coarse, given_fine, given_coarse) are the frozen
features and the table of CIFAR-100N that the study's stages write to `store/features` and `store/packed`. Plain loops
over anchors, other seeds than the studies', and only numpy, pandas and torch. A linear head to 128 dimensions, 500
batches of 20 classes x 5 images, Adam at 0.001, triplet with margin 0.2 and random semi-hard negatives: by the rule of
Le and Odobez, any that violates the margin, or with `--window` by that of Roth et al., only those beyond the positive
(any, if there is none).

Three questions, in points of R@1 by verified labels: easy positives against random ones, trained on 20 groups with
26.4% uniform noise, on the 100 kinds; trained on 50 kinds with 36.5% of the labels wrong, PRISM against no filter on
the other 50 kinds; and the noise of people against uniform noise.
"""

import argparse
import statistics
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import normalize

MARGIN, STEPS, CLASSES, PER_CLASS, SIZE = 0.2, 500, 20, 5, 128
MEMORY, WINDOW, WARM_UP = 4000, 30, 100  # of PRISM
COARSE, FINE = 0.264, 0.365  # shares of wrong labels


class Prism:
    """Which samples look clean: the softmax of their similarity to the classes' means, above a running quantile."""

    def __init__(self, rate: float, memory: int = MEMORY) -> None:
        self.rate, self.seen = rate, 0
        self.memory: deque[tuple[int, np.ndarray]] = deque(maxlen=memory)
        self.quantiles: deque[float] = deque(maxlen=WINDOW)

    def __call__(self, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
        self.seen += 1
        kept = np.ones(len(labels), bool)
        if self.seen > WARM_UP:
            own = defaultdict(list)
            for label, vector in self.memory:
                own[label].append(vector)
            classes = sorted(own)
            similar = np.exp(vectors @ np.array([np.mean(own[label], axis=0) for label in classes]).T)
            place = {label: column for column, label in enumerate(classes)}
            clean = np.array(
                [
                    similar[row, place[label]] / similar[row].sum() if label in place else 1.0
                    for row, label in enumerate(labels)
                ]
            )
            self.quantiles.append(float(np.quantile(clean, self.rate)))
            kept = clean > np.mean(self.quantiles)
            if not kept.any():
                kept = clean > self.quantiles[-1]
        self.memory.extend((int(label), vector) for label, vector in zip(labels[kept], vectors[kept], strict=True))
        return kept


def triplet_loss(
    vectors: torch.Tensor, labels: np.ndarray, easy: bool, window: bool, random: np.random.Generator
) -> torch.Tensor:
    """The mean over triplets with a loss, at most one for each anchor."""
    distance = torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")
    known, chosen = distance.detach().numpy(), []
    for anchor, label in enumerate(labels):
        mates = np.flatnonzero((labels == label) & (np.arange(len(labels)) != anchor))
        others = np.flatnonzero(labels != label)
        if not len(mates) or not len(others):
            continue
        positive = mates[known[anchor, mates].argmin()] if easy else random.choice(mates)
        far = known[anchor, positive]
        near = others[known[anchor, others] < far + MARGIN]
        if window:
            near = near[known[anchor, near] > far]
            near = near if len(near) else others
        if len(near):
            chosen.append((anchor, positive, random.choice(near)))
    a, p, n = torch.tensor(chosen).T
    losses = torch.relu(distance[a, p] - distance[a, n] + MARGIN)
    return losses.sum() / max(1, int((losses > 0).sum()))


def trial(
    seed: int,
    train: tuple[torch.Tensor, np.ndarray],
    test: tuple[torch.Tensor, np.ndarray],
    easy: bool,
    window: bool,
    keep: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> float:
    """R@1 of the test vectors through a head that was trained on `train`, in percent."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    features, labels = train
    members = {label: np.flatnonzero(labels == label) for label in np.unique(labels)}
    head = torch.nn.Linear(features.shape[1], SIZE)
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    for _ in range(STEPS):
        classes = random.choice(list(members), CLASSES, replace=False)
        batch = np.concatenate([random.choice(members[label], PER_CLASS, replace=False) for label in classes])
        vectors, own = normalize(head(features[batch])), labels[batch]
        if keep is not None:
            kept = keep(vectors.detach().numpy(), own)
            vectors, own = vectors[torch.from_numpy(kept)], own[kept]
        optimizer.zero_grad()
        triplet_loss(vectors, own, easy, window, random).backward()
        optimizer.step()
    with torch.no_grad():
        found, hits = normalize(head(test[0])), 0
        for start in range(0, len(found), 1000):
            similar = found[start : start + 1000] @ found.T
            rows = torch.arange(len(similar))
            similar[rows, rows + start] = -2
            hits += int((test[1][similar.argmax(1).numpy()] == test[1][start : start + 1000]).sum())
    return 100 * hits / len(test[1])


def uniform(labels: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """The labels, a share of them replaced by another class of those that occur."""
    classes, place = np.unique(labels, return_inverse=True)
    wrong = random.choice(len(labels), round(rate * len(labels)), replace=False)
    place[wrong] = (place[wrong] + random.integers(1, len(classes), len(wrong))) % len(classes)
    return classes[place]


def scores(seed: int, features: torch.Tensor, table: pd.DataFrame, window: bool) -> dict[str, float]:
    """R@1 of each arm, in percent."""
    random = np.random.default_rng(seed + 1)
    fine, coarse, given = (table[name].to_numpy(copy=True) for name in ("fine", "coarse", "given_fine"))
    training = (table["part"] == "train").to_numpy(copy=True)
    kinds, groups = np.unique(fine[~training]), uniform(coarse[training], COARSE, random)
    found = {}
    for easy, name in ((False, "random"), (True, "easy")):
        seen = features[~training], fine[~training]
        found[f"groups, {name}"] = trial(seed, (features[training], groups), seen, easy, window)
    train_kinds = kinds[: len(kinds) // 2]
    unseen = ~training & ~np.isin(fine, train_kinds)
    people, clean = training & np.isin(given, train_kinds), training & np.isin(fine, train_kinds)
    noisy = {"people": (people, given[people]), "uniform": (clean, uniform(fine[clean], FINE, random))}
    for noise, (rows, labels) in noisy.items():
        for easy, name in ((False, "random"), (True, "easy")):
            for keep, kept in ((None, "all"), (Prism(FINE), "prism")):
                data = (features[rows], labels), (features[unseen], fine[unseen])
                found[f"{noise}, {name}, {kept}"] = trial(seed, *data, easy, window, keep)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path, help="(60000, 1280), frozen features")
    parser.add_argument("index", type=Path, help="the table of labels, row by row")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    parser.add_argument("--window", action="store_true", help="negatives beyond the positive only (Roth et al.)")
    given = parser.parse_args()
    features, table = torch.from_numpy(np.load(given.features)), pd.read_parquet(given.index)
    runs = []
    for seed in given.seeds:
        runs.append(scores(seed, features, table, given.window))
        print(f"seed {seed}: " + "; ".join(f"{name} {value:.1f}" for name, value in runs[-1].items()), flush=True)
    asked = {"easy against random positives, groups, uniform noise": ("groups, easy", "groups, random")}
    for noise in ("people", "uniform"):
        for name in ("random", "easy"):
            asked[f"PRISM, {noise}, {name} positives"] = f"{noise}, {name}, prism", f"{noise}, {name}, all"
    for name in ("random", "easy"):
        asked[f"cost of people above uniform noise, {name} positives"] = f"uniform, {name}, all", f"people, {name}, all"
    for question, (first, second) in asked.items():
        values = [run[first] - run[second] for run in runs]
        spread = statistics.stdev(values) if len(values) > 1 else float("nan")
        print(f"{question}: {statistics.mean(values):+.1f} points, standard deviation {spread:.1f}")


if __name__ == "__main__":
    main()
