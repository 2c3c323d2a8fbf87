"""A second look at the refuted claim `noise-half`, without `dml`: 36.8% wrong labels of letters against clean ones.

    python benchmarks/second_looks/noise_half.py <folder with Omniglot's two zip files> --seeds 100 101 102

Plain loops over anchors, other seeds than the study's, and only numpy, PIL and torch. The protocol is that of
`pipelines/studies/noise-half.yaml`: triplet loss with all positives and, for each, a random negative with a positive
loss (Le and Odobez, equation 28), margin 0.2, RMSProp at 0.001, 1,500 batches of 12 letters x 5, images of 28 x 28.
"""

import argparse
import io
import statistics
import zipfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn.functional import normalize

RATE, MARGIN, STEPS, CLASSES, PER_CLASS = 0.368, 0.2, 1500, 12, 5


def letters(archive: Path) -> tuple[torch.Tensor, np.ndarray, list[str]]:
    """Images float (n, 1, 28, 28), the letter of each as a number, and as `images_background/<alphabet>/<letter>`."""
    images, names = [], []
    with zipfile.ZipFile(archive) as file:
        for name in sorted(n for n in file.namelist() if n.endswith(".png")):
            image = Image.open(io.BytesIO(file.read(name))).convert("L").resize((28, 28), Image.Resampling.BILINEAR)
            images.append(np.asarray(image, dtype=np.float32) / 255)
            names.append(name.rpartition("/")[0])
    return torch.from_numpy(np.stack(images))[:, None], np.unique(names, return_inverse=True)[1], names


def network(size: int = 128) -> nn.Module:
    def block(before: int, after: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]

    pooled = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, size)]
    return nn.Sequential(*block(1, 16, 1), *block(16, 32, 2), *block(32, 64, 2), *pooled)


def triplet_loss(vectors: torch.Tensor, labels: np.ndarray, random: np.random.Generator) -> torch.Tensor:
    """The mean over all pairs of one label that have a negative with a positive loss."""
    distance = torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")
    distances, terms = distance.detach().numpy(), []
    for anchor in range(len(labels)):
        for positive in range(len(labels)):
            if positive == anchor or labels[positive] != labels[anchor]:
                continue
            others = (labels != labels[anchor]) & (distances[anchor] < distances[anchor, positive] + MARGIN)
            if others.any():
                negative = random.choice(np.flatnonzero(others))
                terms.append(distance[anchor, positive] - distance[anchor, negative] + MARGIN)
    return torch.stack(terms).mean() if terms else vectors.sum() * 0


def recall_at_1(model: nn.Module, images: torch.Tensor, labels: np.ndarray) -> float:
    model.eval()
    with torch.no_grad():
        vectors = torch.cat([normalize(model(part)) for part in images.split(500)])
        hits = 0
        for start in range(0, len(vectors), 500):
            similar = vectors[start : start + 500] @ vectors.T
            rows = torch.arange(len(similar))
            similar[rows, rows + start] = -2
            hits += int((labels[similar.argmax(1).numpy()] == labels[start : start + 500]).sum())
    return 100 * hits / len(labels)


def trial(
    seed: int, rate: float, train: tuple[torch.Tensor, np.ndarray], test: tuple[torch.Tensor, np.ndarray]
) -> float:
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    images, labels = train[0], train[1].copy()
    wrong = random.permutation(len(labels))[: round(rate * len(labels))]
    classes = labels.max() + 1
    labels[wrong] = (labels[wrong] + random.integers(1, classes, len(wrong))) % classes
    members = [np.flatnonzero(labels == label) for label in range(classes)]
    model = network()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        chosen = random.choice(classes, CLASSES, replace=False)
        batch = np.concatenate(
            [random.choice(members[c], PER_CLASS, replace=len(members[c]) < PER_CLASS) for c in chosen]
        )
        optimizer.zero_grad()
        triplet_loss(normalize(model(images[batch])), labels[batch], random).backward()
        optimizer.step()
    return recall_at_1(model, *test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="contains images_background.zip and images_evaluation.zip")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    given = parser.parse_args()
    train, test = (letters(given.folder / f"images_{part}.zip")[:2] for part in ("background", "evaluation"))
    differences = []
    for seed in given.seeds:
        clean, noisy = (trial(seed, rate, train, test) for rate in (0.0, RATE))
        differences.append(noisy - clean)
        print(
            f"seed {seed}: R@1 {clean:.1f} clean, {noisy:.1f} with {RATE:.1%} wrong labels: {noisy - clean:+.1f}",
            flush=True,
        )
    spread = statistics.stdev(differences) if len(differences) > 1 else float("nan")
    print(f"difference: {statistics.mean(differences):+.1f} points, standard deviation {spread:.1f}")


if __name__ == "__main__":
    main()
