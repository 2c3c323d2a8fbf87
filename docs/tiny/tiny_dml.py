"""The whole of dml in one small file, to learn from: cells, a fair search, keys, resuming, label noise, scores.

    python docs/tiny/tiny_dml.py             # a second run trains nothing: every trial is in tiny-store

A *cell* is one loss at one noise rate. Each cell gets the same number of tuning trials, scored on validation classes.
Its best learning rate is then confirmed with several seeds on test classes, which the search never sees. A trial is
stored under a *key*, the digest of all that decides its result, so a finished trial never runs again. dml adds tuples,
many datasets and losses, a cluster, tracking, a report, and resuming within a trial; the ideas are these.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import dml
from dml.data.sources import Numbers

LOSSES = ("triplet", "contrastive", "multi_similarity")
RATES = (0.0, 0.4)  # shares of wrong training labels
TRIALS = 3  # learning rates tried for each cell
SEEDS = (0, 1)
VERSIONS = {"train": 1, "evaluate": 1}  # raise one when its numbers change: the trials that used it run again


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels float32 (n, 294) from 0 to 1, labels int64 (n,), and whether an image's class trains, bool (n,)."""
    records = list(Numbers(size=14).images(Path()))
    pixels = np.stack([record["image"].ravel() for record in records]).astype(np.float32) / 255
    labels = np.array([record["fine"] for record in records], dtype=np.int64)
    return pixels, labels, np.array([record["part"] == "train" for record in records])


def split(labels: np.ndarray, trains: np.ndarray, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to score, of different classes. `test` scores the test classes.

    `validation` scores every second training class and trains on the others, so the test classes stay unseen.
    """
    if part == "test":
        return np.flatnonzero(trains), np.flatnonzero(~trains)
    held_out = np.isin(labels, np.unique(labels[trains])[::2])
    return np.flatnonzero(trains & ~held_out), np.flatnonzero(trains & held_out)


def corrupt(labels: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Uniform noise: exactly round(rate * n) labels become one of the other classes. Only training labels come here."""
    draw = np.random.default_rng([seed, 1])
    classes, places = np.unique(labels, return_inverse=True)
    wrong = draw.permutation(len(labels))[: round(rate * len(labels))]
    places[wrong] = (places[wrong] + draw.integers(1, len(classes), len(wrong))) % len(classes)
    return classes[places]


def batches(labels: np.ndarray, seed: int, steps: int, classes: int = 16, each: int = 4) -> Any:
    """Rows int64 (64,) of each step: the same number of images of each class, or most tuples would be negative."""
    draw = np.random.default_rng([seed, 2])
    rows_of = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    rows_of = [rows for rows in rows_of if len(rows) >= each]
    for _ in range(steps):
        chosen = draw.permutation(len(rows_of))[:classes]
        yield np.concatenate([draw.choice(rows_of[place], each, replace=False) for place in chosen])


def train(pixels: np.ndarray, labels: np.ndarray, spec: dict[str, Any]) -> nn.Module:
    """A small network, trained on labels (n,) that may be wrong."""
    with torch.random.fork_rng(devices=[]):  # no global random state is changed
        torch.manual_seed(spec["seed"])
        layers = [nn.Unflatten(1, (1, 14, 21)), nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()]
        layers += [nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)]
        network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 3 * 5, 32))
    loss = dml.losses.build(spec["loss"])  # or ten lines of your own: (embeddings, labels) -> scalar
    optimizer = torch.optim.Adam([*network.parameters(), *loss.parameters()], lr=spec["learning_rate"])
    images, targets = torch.from_numpy(pixels), torch.from_numpy(labels)
    for rows in batches(labels, spec["seed"], spec["steps"]):
        optimizer.zero_grad()
        loss(network(images[rows]), targets[rows]).backward()
        optimizer.step()
    return network.eval()


def recall_at_1(embeddings: Tensor, labels: np.ndarray) -> float:
    """How often the nearest other image, by cosine, has the same clean label. Embeddings are (n, D)."""
    unit = nn.functional.normalize(embeddings, dim=1)
    nearest = (unit @ unit.T).fill_diagonal_(-torch.inf).argmax(1)
    return float(np.mean(labels[nearest.numpy()] == labels))


def key(spec: dict[str, Any]) -> str:
    """The digest of all that decides a result: the settings and the versions of the code, not the code itself."""
    return hashlib.sha256(json.dumps([spec, VERSIONS], sort_keys=True).encode()).hexdigest()[:16]


def trial(spec: dict[str, Any], store: Path) -> float:
    """Recall@1 of one training. It is read from the store if it has run before."""
    path = store / f"{key(spec)}.json"
    if path.exists():
        return json.loads(path.read_text())["score"]
    pixels, labels, trains = load()
    training, scored = split(labels, trains, spec["part"])
    network = train(pixels[training], corrupt(labels[training], spec["rate"], spec["seed"]), spec)
    with torch.no_grad():
        score = recall_at_1(network(torch.from_numpy(pixels[scored])), labels[scored])
    store.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".partial").write_text(json.dumps({"spec": spec, "score": score}))
    os.replace(path.with_suffix(".partial"), path)  # at once, so an interrupted run leaves no half result
    return score


def learning_rates(count: int) -> list[float]:
    """Random search, log-uniform from 1e-4 to 1e-2; every cell tries the same ones."""
    return [float(f"{10**power:.2g}") for power in np.random.default_rng(3).uniform(-4, -2, count)]


def sweep(store: Path, losses=LOSSES, rates=RATES, trials: int = TRIALS, seeds=SEEDS, steps: int = 200) -> list[dict]:
    """A row for each cell: its tuned learning rate, and its score for each seed on the test classes."""
    rows = []
    for loss, rate in itertools.product(losses, rates):
        cell = {"loss": loss, "rate": rate, "steps": steps}
        tuning = [{**cell, "learning_rate": x, "part": "validation", "seed": 0} for x in learning_rates(trials)]
        best = max(tuning, key=lambda spec: trial(spec, store))
        scores = [trial({**best, "part": "test", "seed": seed}, store) for seed in seeds]
        rows.append({**cell, "learning_rate": best["learning_rate"], "scores": scores})
    return rows


def main(store: Path = Path("tiny-store")) -> None:
    """Run the sweep and print its table, under the score that every method has to beat."""
    pixels, labels, trains = load()
    print(f"without training, pixels    {recall_at_1(torch.from_numpy(pixels[~trains]), labels[~trains]):6.1%}")
    for row in sweep(store):
        mean, scores = np.mean(row["scores"]), "  ".join(f"{score:.1%}" for score in row["scores"])
        print(f"{row['loss']:<17}{row['rate']:4.0%} wrong {mean:8.1%}   (seeds: {scores}; rate {row['learning_rate']})")


if __name__ == "__main__":
    main()
