"""A second look at the claim `eps-nmi-plus`, without `dml`: NMI and NMI+ of the training alphabets with easy positives.

    python benchmarks/second_looks/eps_nmi_plus.py <folder with Omniglot's two zip files> --seeds 100 101 102

Plain loops over anchors, other seeds than the study's, scikit-learn's k-means and NMI, and only numpy, PIL and torch
beside them. The protocol is that of `pipelines/studies/eps-table3-ten.yaml` for the triplet loss: the labels are the
first ten alphabets, 3,000 batches of 8 alphabets x 20 images of 28 x 28, Adam at 0.003 with a cosine schedule, margin
0.2, 128 dimensions; semi-hard positives or the nearest one, semi-hard negatives (Roth et al., ICML 2020). NMI has as
many clusters as alphabets, NMI+ 30 times as many.
"""

import argparse
import statistics
from pathlib import Path

import numpy as np
import torch
from noise_half import letters, network, recall_at_1
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from torch.nn.functional import normalize

MARGIN, STEPS, ALPHABETS, CLASSES, PER_CLASS, MORE = 0.2, 3000, 10, 8, 20, 30


def alphabets(folder: Path) -> tuple[torch.Tensor, np.ndarray]:
    """The training images of the first ten alphabets, float (n, 1, 28, 28), and the alphabet of each."""
    images, _, names = letters(folder / "images_background.zip")
    codes = np.unique([name.split("/")[-2] for name in names], return_inverse=True)[1]
    kept = codes < ALPHABETS
    return images[kept], codes[kept]


def triplet_loss(vectors: torch.Tensor, labels: np.ndarray, easy: bool, random: np.random.Generator) -> torch.Tensor:
    """The mean over triplets with a loss, one for each anchor."""
    distance = torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")
    distances, terms = distance.detach().numpy(), []
    for anchor in range(len(labels)):
        mates = np.flatnonzero((labels == labels[anchor]) & (np.arange(len(labels)) != anchor))
        others = np.flatnonzero(labels != labels[anchor])
        if easy:
            positive = mates[distances[anchor, mates].argmin()]
        else:
            beyond = mates[distances[anchor, mates] > distances[anchor, others].min()]
            positive = random.choice(beyond if len(beyond) else mates)
        far = distances[anchor, positive]
        between = others[(distances[anchor, others] > far) & (distances[anchor, others] < far + MARGIN)]
        negative = random.choice(between if len(between) else others)
        terms.append(torch.relu(distance[anchor, positive] - distance[anchor, negative] + MARGIN))
    losses = torch.stack(terms)
    return losses.sum() / max(1, int((losses > 0).sum()))


def trial(seed: int, easy: bool, images: torch.Tensor, labels: np.ndarray) -> tuple[float, float, float]:
    """R@1, NMI and NMI+ of the training images, in percent."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    members = [np.flatnonzero(labels == label) for label in range(ALPHABETS)]
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        chosen = random.choice(ALPHABETS, CLASSES, replace=False)
        batch = np.concatenate([random.choice(members[c], PER_CLASS, replace=False) for c in chosen])
        optimizer.zero_grad()
        triplet_loss(normalize(model(images[batch])), labels[batch], easy, random).backward()
        optimizer.step()
        schedule.step()
    recall = recall_at_1(model, images, labels)
    with torch.no_grad():
        vectors = torch.cat([normalize(model(part)) for part in images.split(500)]).numpy()
    clusterings = [KMeans(k, n_init=3, random_state=seed).fit_predict(vectors) for k in (ALPHABETS, MORE * ALPHABETS)]
    nmi, more = (100 * normalized_mutual_info_score(labels, clusters) for clusters in clusterings)
    return recall, nmi, more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="contains images_background.zip and images_evaluation.zip")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    given = parser.parse_args()
    images, labels = alphabets(given.folder)
    differences = []
    for seed in given.seeds:
        usual, easy = (trial(seed, each, images, labels) for each in (False, True))
        differences.append([after - before for before, after in zip(usual, easy, strict=True)])
        shown = "; ".join(
            f"{name} {before:.1f} and {after:.1f}"
            for name, before, after in zip(("R@1", "NMI", "NMI+"), usual, easy, strict=True)
        )
        print(f"seed {seed}, semi-hard and easy positives: {shown}", flush=True)
    for name, values in zip(("R@1", "NMI", "NMI+"), zip(*differences, strict=True), strict=True):
        spread = statistics.stdev(values) if len(values) > 1 else float("nan")
        print(f"{name}: {statistics.mean(values):+.1f} points with easy positives, standard deviation {spread:.1f}")


if __name__ == "__main__":
    main()
