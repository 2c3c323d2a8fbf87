"""A second look at the claim `eps-figure-2-parity`, without `dml`: R@1 of even and odd in the plane, by positives.

    python benchmarks/second_looks/mnist_parity.py <folder with MNIST's four gz files> --seeds 100 101 102

Other seeds than the study's, and only numpy and torch. The protocol is that of `pipelines/studies/eps-table1.yaml`:
the paper's network, trained on even against odd with the digits 0 to 5, 1,600 batches of 2 x 32 images, Adam at 0.001,
squared distances in the plane, a margin of 0.2, all negatives of the batch, and for each anchor a random positive or
the nearest one. Evaluated on MNIST's test images of these digits.
"""

import argparse
import gzip
import statistics
from pathlib import Path

import numpy as np
import torch
from torch import nn

MARGIN, STEPS, PER_CLASS, DIGITS = 0.2, 1600, 32, 6


def read(folder: Path, part: str) -> tuple[torch.Tensor, np.ndarray]:
    """Images of the digits 0 to 5, float (n, 1, 28, 28), and their digits."""
    images = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = np.frombuffer(gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    pixels = torch.tensor(np.frombuffer(images, np.uint8, offset=16).reshape(-1, 1, 28, 28) / np.float32(255))
    return (pixels[labels < DIGITS] - 0.1307) / 0.3081, labels[labels < DIGITS].astype(int)


def network() -> nn.Module:
    """Section 5.1 and appendix C."""
    first = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.BatchNorm2d(32), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.BatchNorm2d(64)]
    return nn.Sequential(*first, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 144, 128), nn.ReLU(), nn.Linear(128, 2))


def triplet_loss(points: torch.Tensor, parity: np.ndarray, easy: bool, random: np.random.Generator) -> torch.Tensor:
    """The mean over all anchors and negatives."""
    terms = []
    for anchor in range(len(parity)):
        squared = ((points - points[anchor]) ** 2).sum(1)
        mates = np.flatnonzero((parity == parity[anchor]) & (np.arange(len(parity)) != anchor))
        mate = mates[squared.detach().numpy()[mates].argmin()] if easy else random.choice(mates)
        terms.append(torch.relu(squared[mate] - squared[np.flatnonzero(parity != parity[anchor])] + MARGIN))
    return torch.stack(terms).mean()


def recall_at_1(points: torch.Tensor, labels: np.ndarray) -> float:
    """In percent."""
    right = 0
    for row in range(len(labels)):
        squared = ((points - points[row]) ** 2).sum(1)
        squared[row] = torch.inf
        right += labels[int(squared.argmin())] == labels[row]
    return 100 * right / len(labels)


def trial(seed: int, easy: bool, train: tuple, test: tuple) -> tuple[float, float]:
    """R@1 of even and odd, and of the digits."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    images, digits = train
    members = [np.flatnonzero(digits % 2 == parity) for parity in range(2)]
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        rows = np.concatenate([random.choice(of_parity, PER_CLASS, replace=False) for of_parity in members])
        loss = triplet_loss(model(images[rows]), digits[rows] % 2, easy, random)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        points = torch.cat([model(part) for part in test[0].split(500)])
    return recall_at_1(points, test[1] % 2), recall_at_1(points, test[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    arguments = parser.parse_args()
    train, test = read(arguments.folder, "train"), read(arguments.folder, "t10k")
    differences = []
    for seed in arguments.seeds:
        (random, random_digits), (easy, easy_digits) = (trial(seed, each, train, test) for each in (False, True))
        differences.append(easy - random)
        print(
            f"seed {seed}: R@1 of parity {random:.1f} with random positives, {easy:.1f} with easy ones "
            f"(of digits {random_digits:.1f} and {easy_digits:.1f})",
            flush=True,
        )
    spread = statistics.stdev(differences) if len(differences) > 1 else float("nan")
    print(f"parity: easy less random {statistics.mean(differences):+.1f} (sd {spread:.1f})")


if __name__ == "__main__":
    main()
