"""The softmax layer against scikit-learn's logistic regression."""

import numpy as np
import pytest
import torch
from made_labels import blobs
from sklearn.linear_model import LogisticRegression

from dml.audit.probabilities import fit, turn


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


def test_the_moments_are_those_of_turned_unit_vectors():
    basis = turn(torch.from_numpy(blobs(n=50)[0] * 3))
    unit = torch.nn.functional.normalize(basis.vectors, dim=1)
    torch.testing.assert_close(basis.vectors * basis.inverse, unit)
    turned = torch.cat([unit, torch.ones(50, 1)], 1) @ basis.directions
    torch.testing.assert_close(turned.T @ turned / 50, basis.moments.diag(), rtol=0, atol=1e-5)


def test_lengths_do_not_matter_and_a_zero_vector_is_allowed():
    vectors, _, given = blobs(n=50)
    weights, rows = torch.randn(13, 6, generator=torch.Generator().manual_seed(0)), torch.arange(50)
    logits = [turn(torch.from_numpy(vectors * length)).logits(rows, weights) for length in (1, 7)]
    torch.testing.assert_close(*logits, rtol=0, atol=1e-5)
    vectors[3] = 0
    basis = turn(torch.from_numpy(vectors))
    torch.testing.assert_close(basis.logits(rows[3:4], weights)[0], weights[-1])
    assert fit(basis, rows, torch.from_numpy(given), 6, 1e-3).isfinite().all()
