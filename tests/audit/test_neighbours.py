"""The neighbours' vote against a naive loop."""

import numpy as np
import pytest
import torch
from made_labels import blobs

from dml.audit.neighbours import contradictions, vote


@pytest.mark.parametrize("k", [1, 5, 400])
def test_votes_equal_a_naive_loop(k):
    vectors, _, given = blobs(n=150)
    codes = np.where(np.arange(150) < 4, -1, given)
    trust = np.random.default_rng(1).random(150)
    found = vote(torch.from_numpy(vectors), codes, trust, k, 0.999)
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    cosine[:, :4] = -np.inf
    for row in range(150):
        nearest = np.argsort(-cosine[row], kind="stable")[: min(k, 145)] if row >= 4 else np.array([], dtype=int)
        assert found.weight[row] == pytest.approx(trust[nearest].sum())
        assert found.own[row] == pytest.approx(trust[nearest][codes[nearest] == codes[row]].sum())


def test_pairs_equal_a_naive_search():
    vectors, _, given = blobs(n=150, size=4)
    found = vote(torch.from_numpy(vectors), given, np.ones(150), 150, 0.99)
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = np.triu(unit @ unit.T, 1)
    first, second = np.nonzero(cosine >= 0.99)
    assert len(first) > 0
    assert found.pairs.tolist() == np.stack([first, second], 1).tolist()
    np.testing.assert_allclose(found.similarity, cosine[first, second], atol=1e-6)
    different = [number for number, (a, b) in enumerate(found.pairs) if given[a] != given[b]]
    assert sorted(contradictions(found, given).tolist()) == different


def test_more_equal_vectors_than_neighbours_are_all_found():
    vectors = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    vectors[10:30] = vectors[10]
    found = vote(torch.from_numpy(vectors), np.arange(40) % 2, np.ones(40), 3, 1.0)
    assert set(range(10, 30)) == set(found.pairs[found.similarity > 0.9999].ravel().tolist())


def test_no_image_has_more_voters_than_it_may_have():
    """Of ten equal vectors a search for 3 + 1 need not find the image itself."""
    found = vote(torch.ones(10, 4), np.arange(10) % 2, np.ones(10), 3, 0.999)
    assert found.weight.tolist() == [3.0] * 10
