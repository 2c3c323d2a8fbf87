"""A second look, without `dml`, at what `robust-methods` says of PRISM with triplet loss on letters.

    python benchmarks/second_looks/prism_letters.py <folder with Omniglot's two zip files> --rates 0.2 0.5

Plain loops over anchors, other seeds than the study's, and only numpy, pandas, PIL and torch. The protocol is that of
`pipelines/studies/robust-methods.yaml`: triplet loss with all positives and, for each, a random negative with a
positive loss (Le and Odobez, equation 28), margin 0.2, Adam at 0.001, 600 batches of 16 letters x 4, images of 28 x 28,
64 dimensions; PRISM with the share of wrong labels as its rate and a memory of 9,500.
"""

import argparse
import statistics
from pathlib import Path

import numpy as np
import torch
from human_frozen import Prism, uniform
from noise_half import letters, network, recall_at_1, triplet_loss
from torch.nn.functional import normalize

STEPS, CLASSES, PER_CLASS, SIZE, MEMORY = 600, 16, 4, 64, 9500

Images = tuple[torch.Tensor, np.ndarray]


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
