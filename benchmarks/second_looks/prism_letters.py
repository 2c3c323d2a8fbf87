"""A second look, without `dml`, at what `robust-methods` says of PRISM with triplet loss on letters.

    python benchmarks/second_looks/prism_letters.py <folder with Omniglot's two zip files> --rates 0.2 0.5

Plain loops over anchors, other seeds than the study's, and only numpy, pandas, PIL and torch. The protocol is that of
`pipelines/studies/robust-methods.yaml`: triplet loss with all positives and, for each, a random negative with a
positive loss (Le and Odobez, equation 28), margin 0.2, Adam at 0.001, 600 batches of 16 letters x 4, images of 28 x 28,
64 dimensions; PRISM with the share of wrong labels as its rate and a memory of 9,500.
"""

import argparse
import statistics
from collections import defaultdict, deque
from pathlib import Path

import numpy as np
import torch
from noise_half import letters, network, recall_at_1, triplet_loss
from torch.nn.functional import normalize

STEPS, CLASSES, PER_CLASS, SIZE, MEMORY = 600, 16, 4, 64, 9500
WINDOW, WARM_UP = 30, 100  # of PRISM

Images = tuple[torch.Tensor, np.ndarray]


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
            remembered = defaultdict(list)
            for label, vector in self.memory:
                remembered[label].append(vector)
            classes = sorted(remembered)
            similar = np.exp(vectors @ np.array([np.mean(remembered[label], axis=0) for label in classes]).T)
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


def uniform(labels: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """The labels, a share of them replaced by another class of those that occur."""
    classes, place = np.unique(labels, return_inverse=True)
    wrong = random.choice(len(labels), round(rate * len(labels)), replace=False)
    place[wrong] = (place[wrong] + random.integers(1, len(classes), len(wrong))) % len(classes)
    return classes[place]


def trial(seed: int, images: torch.Tensor, labels: np.ndarray, test: Images, keep: Prism | None) -> float:
    """R@1 of the test images, in percent."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    members = {label: np.flatnonzero(labels == label) for label in np.unique(labels)}
    model = network(SIZE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        chosen = random.choice(list(members), CLASSES, replace=False)
        batch = np.concatenate(
            [random.choice(members[c], PER_CLASS, replace=len(members[c]) < PER_CLASS) for c in chosen]
        )
        vectors, observed = normalize(model(images[batch])), labels[batch]
        if keep is not None:
            kept = keep(vectors.detach().numpy(), observed)
            vectors, observed = vectors[torch.from_numpy(kept)], observed[kept]
        optimizer.zero_grad()
        triplet_loss(vectors, observed, random).backward()
        optimizer.step()
    return recall_at_1(model, *test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="contains images_background.zip and images_evaluation.zip")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.2, 0.5], help="of wrong labels")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    given = parser.parse_args()
    train, test = (letters(given.folder / f"images_{part}.zip")[:2] for part in ("background", "evaluation"))
    for rate in given.rates:
        differences = []
        for seed in given.seeds:
            labels = uniform(train[1], rate, np.random.default_rng(seed + 1))
            plain, filtered = (trial(seed, train[0], labels, test, keep) for keep in (None, Prism(rate, MEMORY)))
            differences.append(filtered - plain)
            print(f"seed {seed}, {rate:.0%} wrong: R@1 {plain:.1f}, with PRISM {filtered:.1f}", flush=True)
        spread = statistics.stdev(differences) if len(differences) > 1 else float("nan")
        print(f"PRISM, {rate:.0%} wrong: {statistics.mean(differences):+.1f} points, standard deviation {spread:.1f}")


if __name__ == "__main__":
    main()
