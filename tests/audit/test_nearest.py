"""Nearest vectors against a naive search, and that they take little memory."""

import numpy as np
import pytest
import torch

from dml.audit import neighbours
from dml.audit.neighbours import nearest


def together(vectors: torch.Tensor, rows: torch.Tensor, k: int):
    blocks = list(nearest(vectors, rows, k))
    assert torch.cat([block.queries for block in blocks]).equal(rows)
    return torch.cat([block.found for block in blocks]), torch.cat([block.cosine for block in blocks])


@pytest.mark.parametrize("chunk", [1 << 21, 500])  # one tile, many
@pytest.mark.parametrize("faiss", [True, False])
def test_they_equal_a_naive_search(monkeypatch, chunk, faiss):
    if not faiss:
        monkeypatch.setattr(neighbours._search, "has_faiss", lambda: False)
    monkeypatch.setattr(neighbours, "CHUNK", chunk)
    vectors = np.random.default_rng(0).normal(size=(230, 8)).astype(np.float32)
    vectors[7] = 0
    rows = np.flatnonzero(np.arange(230) % 10 != 3)
    unit = vectors.astype(np.float64) / np.maximum(np.linalg.norm(vectors.astype(np.float64), axis=1), 1e-30)[:, None]
    cosine = unit[rows] @ unit[rows].T
    found, similar = together(torch.from_numpy(vectors), torch.from_numpy(rows), 12)
    seen = rows != 7  # all have the same cosine to a zero vector
    expected = np.argsort(-cosine, axis=1, kind="stable")[:, :12]
    assert np.array_equal(found[seen], rows[expected[seen]])
    np.testing.assert_allclose(similar, np.take_along_axis(cosine, expected, 1), atol=1e-6)
