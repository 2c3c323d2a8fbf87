"""An independent ranking to compare with: float64 loops, one query at a time."""

import numpy as np
import pytest


def _naive(embeddings, labels, *, normalize=True, queries=None, gallery=None, cameras=None):
    """For each query with a relevant row: whether its neighbours, nearest first, are relevant (bool arrays)."""
    x = np.asarray(embeddings, dtype=np.float64)
    if normalize:
        norms = np.sqrt((x * x).sum(1))
        x = x / np.where(norms > 0, norms, 1)[:, None]
    rows = range(len(x))
    out = []
    for q in rows if queries is None else np.flatnonzero(queries):
        candidates = []
        for g in rows if gallery is None else np.flatnonzero(gallery):
            if g == q:
                continue
            if cameras is not None and labels[g] == labels[q] and cameras[g] == cameras[q]:
                continue
            candidates.append((((x[q] - x[g]) ** 2).sum(), g))
        right = np.array([labels[g] == labels[q] for _, g in sorted(candidates)], dtype=bool)
        if right.any():
            out.append(right)
    return out


@pytest.fixture(scope="session")
def naive():
    return _naive


def _case(seed, n=120, d=8, classes=9, duplicates=True):
    """Random embeddings around class centres, classes of unequal sizes (one of a single sample), with duplicates."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, size=n, p=(w := rng.random(classes) + 0.05) / w.sum()).astype(np.int64)
    labels[0] = classes + 5
    x = (rng.normal(size=(max(labels) + 1, d))[labels] + rng.normal(size=(n, d))).astype(np.float32)
    if duplicates:
        x[rng.integers(n, size=n // 4)] = x[rng.integers(n)]
        x[rng.integers(n, size=n // 4)] = x[rng.integers(n, size=n // 4)]
    return x, labels


@pytest.fixture(scope="session")
def case():
    return _case
