"""Parts of the audit against naive references: nearest vectors, votes of neighbours, the softmax layer."""

import numpy as np
import pytest
import torch
from made_labels import blobs
from sklearn.linear_model import LogisticRegression

from dml.audit import neighbours
from dml.audit.inputs import check_vectors
from dml.audit.neighbours import contradictions, nearest, vote
from dml.audit.probabilities import fit, turn


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
    blocks = zip(*nearest(torch.from_numpy(vectors), torch.from_numpy(rows), 12), strict=True)
    queries, found, similar = map(torch.cat, blocks)
    assert np.array_equal(queries, rows)
    seen = rows != 7  # all have the same cosine to a zero vector
    expected = np.argsort(-cosine, axis=1, kind="stable")[:, :12]
    assert np.array_equal(found[seen], rows[expected[seen]])
    np.testing.assert_allclose(similar, np.take_along_axis(cosine, expected, 1), atol=1e-6)


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
        assert found.agreeing[row] == pytest.approx(trust[nearest][codes[nearest] == codes[row]].sum())


def test_pairs_equal_a_naive_search():
    vectors, _, given = blobs(n=150, size=4)
    found = vote(torch.from_numpy(vectors), given, np.ones(150), 150, 0.99)
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = np.triu(unit @ unit.T, 1)
    first, second = np.nonzero(cosine >= 0.99)
    assert len(first) > 0
    assert found.pairs.tolist() == np.stack([first, second], 1).tolist()
    np.testing.assert_allclose(found.similarity, cosine[first, second], atol=1e-6)
    different = [[a, b] for a, b in found.pairs.tolist() if given[a] != given[b]]
    table = contradictions(found, given)
    assert table[["first", "second"]].sort_values(["first", "second"]).to_numpy().tolist() == different
    assert table["similarity"].is_monotonic_decreasing
    assert (table["given_first"] != table["given_second"]).all()


def test_more_equal_vectors_than_neighbours_are_all_found():
    vectors = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    vectors[10:30] = vectors[10]
    found = vote(torch.from_numpy(vectors), np.arange(40) % 2, np.ones(40), 3, 1.0)
    assert set(range(10, 30)) == set(found.pairs[found.similarity > 0.9999].ravel().tolist())


def test_no_image_has_more_voters_than_it_may_have():
    """Of ten equal vectors a search for 3 + 1 need not find the image itself."""
    found = vote(torch.ones(10, 4), np.arange(10) % 2, np.ones(10), 3, 0.999)
    assert found.weight.tolist() == [3.0] * 10


@pytest.mark.parametrize("l2", [1e-2, 1e-4])
def test_it_agrees_with_scikit_learn(l2):
    vectors, _, given = blobs(n=400)
    rows = np.arange(300)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.concatenate([unit, np.ones((len(unit), 1))], axis=1)
    peer = LogisticRegression(C=1 / (l2 * len(rows)), fit_intercept=False, tol=1e-8, max_iter=5000)
    expected = peer.fit(unit[rows], given[rows]).predict_log_proba(unit)

    basis = turn(torch.from_numpy(vectors))
    weights = fit(basis, torch.from_numpy(rows), torch.from_numpy(given), 6, l2)
    logs = basis.logits(torch.arange(400), weights).log_softmax(1).numpy()
    assert np.abs(logs - expected).mean() < 0.02
    assert (logs.argmax(1) == expected.argmax(1)).mean() > 0.98


def test_lengths_do_not_matter_and_a_zero_vector_is_allowed():
    vectors, _, given = blobs(n=50)
    weights, rows = torch.randn(13, 6, generator=torch.Generator().manual_seed(0)), torch.arange(50)
    scaled = [check_vectors("v", vectors * length, 50) for length in (1, 7, 1e25, 1e-25)]
    expected, *others = (turn(each).logits(rows, weights) for each in scaled)
    for logits in others:
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
    vectors[3] = 0
    basis = turn(torch.from_numpy(vectors))
    torch.testing.assert_close(basis.logits(rows[3:4], weights)[0], weights[-1])
    assert fit(basis, rows, torch.from_numpy(given), 6, 1e-3).isfinite().all()
