"""Blobs with wrong labels that are known."""

import numpy as np


def blobs(
    n: int = 600,
    classes: int = 6,
    size: int = 12,
    spread: float = 0.7,
    rate: float = 0.2,
    seed: int = 0,
    steps: int = 0,
):
    """Vectors float32 (n, size), true and given labels int64 (n,)."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % classes
    vectors = (rng.normal(size=(classes, size))[true] + spread * rng.normal(size=(n, size))) / size**0.5
    given = true.copy()
    hit = rng.permutation(n)[: round(rate * n)]
    given[hit] = (true[hit] + rng.integers(1, steps + 1 if steps else classes, size=len(hit))) % classes
    return vectors.astype(np.float32), true, given
