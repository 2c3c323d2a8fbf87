"""A naive PRISM in float64 with loops, and batches with wrong labels."""

import math
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import ive

import dml.losses


def naive_scores(memory, v, kind):
    """The score of a unit vector against each class that the memory holds."""
    found = {}
    for k in {label for label, _ in memory}:
        mean = np.mean([x for label, x in memory if label == k], axis=0)
        if kind == "prism":
            found[k] = float(mean @ v)
            continue
        d, length = len(v), float(np.linalg.norm(mean))
        r = min(max(length, 1e-4), 0.99)
        kappa = r * (d - r**2) / (1 - r**2)
        bessel = math.log(ive(d / 2 - 1, kappa)) + kappa
        found[k] = kappa * float(mean @ v) / max(length, 1e-4) + (d / 2 - 1) * math.log(kappa) - bessel
        found[k] -= d / 2 * math.log(2 * math.pi)
    return found


class Naive:
    """What a filter keeps, batch after batch; `closest` is the smallest distance of a sample from the threshold."""

    def __init__(self, kind, rate, memory, window, warm_up):
        self.kind, self.rate, self.warm_up, self.steps, self.closest = kind, rate, warm_up, 0, math.inf
        self.memory, self.quantiles = deque(maxlen=memory), deque(maxlen=window)

    def __call__(self, embeddings, labels):
        x = embeddings.double().numpy()
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        y = labels.tolist()
        kept = self._keep(x, y) if self.steps >= self.warm_up and self.rate else [True] * len(y)
        self.steps += 1
        self.memory.extend((label, v) for label, v, k in zip(y, x, kept, strict=True) if k)
        return kept

    def _keep(self, x, y):
        held = {label for label, _ in self.memory}
        clean = []
        for v, label in zip(x, y, strict=True):
            scores = naive_scores(self.memory, v, self.kind)
            most = max(scores.values(), default=0.0)
            total = sum(math.exp(score - most) for score in scores.values())
            clean.append(math.exp(scores[label] - most) / total if label in held else 1.0)
        self.quantiles.append(float(np.quantile(clean, self.rate)))
        threshold = float(np.mean(self.quantiles))
        self.closest = min([self.closest, *(abs(p - threshold) for p in clean if p < 1)])
        kept = [p > threshold or label not in held for p, label in zip(clean, y, strict=True)]
        return kept if any(p > threshold for p in clean) else [p >= self.quantiles[-1] for p in clean]


def noisy_batches(count, size=24, classes=5, dimension=6, rate=0.3, seed=0):
    """(embeddings (N, D), observed labels (N,), whether each is wrong) of well separated classes."""
    g = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, dimension, generator=g)
    for _ in range(count):
        true = torch.randint(classes, (size,), generator=g)
        wrong = torch.rand(size, generator=g) < rate
        shift = torch.randint(1, classes, (size,), generator=g)
        embeddings = centres[true] + 0.3 * torch.randn(size, dimension, generator=g)
        yield embeddings, torch.where(wrong, (true + shift) % classes, true), wrong


def ready(keep, classes=5, size=6):
    """A filter that watches a loss if it can."""
    if hasattr(keep, "watch"):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            keep.watch(dml.losses.Arcface(num_classes=classes, embedding_size=size, centers=3))
    return keep


@pytest.fixture(scope="session")
def tools():
    return SimpleNamespace(Naive=Naive, noisy_batches=noisy_batches, ready=ready)
