"""The softmax layer against scikit-learn's logistic regression."""

import numpy as np
import pytest
import torch
from made_labels import blobs
from sklearn.linear_model import LogisticRegression

from dml.audit._softmax import fit, turn


@pytest.mark.parametrize("l2", [1e-2, 1e-4])
def test_it_agrees_with_scikit_learn(l2):
    vectors, _, given = blobs(n=400)
    rows = np.arange(300)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.concatenate([unit, np.ones((len(unit), 1))], axis=1)
    peer = LogisticRegression(C=1 / (l2 * len(rows)), fit_intercept=False, tol=1e-8, max_iter=5000)
    expected = peer.fit(unit[rows], given[rows]).predict_log_proba(unit)

    turned = turn(torch.from_numpy(vectors))
    weights = fit(turned, torch.from_numpy(rows), torch.from_numpy(given), 6, l2)
    logs = (turned.vectors @ weights).log_softmax(1).numpy()
    assert np.abs(logs - expected).mean() < 0.02
    assert (logs.argmax(1) == expected.argmax(1)).mean() > 0.98


def test_the_turned_vectors_keep_products():
    vectors = torch.from_numpy(blobs(n=50)[0])
    turned = turn(vectors)
    unit = torch.nn.functional.normalize(vectors, dim=1)
    torch.testing.assert_close(turned.vectors @ turned.vectors.T, unit @ unit.T + 1, rtol=0, atol=1e-5)
    torch.testing.assert_close(turned.vectors.square().mean(0), turned.moments, rtol=0, atol=1e-5)


def test_lengths_do_not_matter_and_a_zero_vector_is_allowed():
    vectors = torch.from_numpy(blobs(n=50)[0])
    torch.testing.assert_close(turn(vectors * 7).vectors, turn(vectors).vectors, rtol=0, atol=1e-5)
    vectors[3] = 0
    assert turn(vectors).vectors.isfinite().all()


def test_rows_that_are_left_out_have_no_effect():
    vectors, _, given = blobs(n=200)
    turned, rows = turn(torch.from_numpy(vectors)), torch.arange(120)
    other = given.copy()
    other[120:] = 0
    first = fit(turned, rows, torch.from_numpy(given), 6, 1e-3)
    assert torch.equal(first, fit(turned, rows, torch.from_numpy(other), 6, 1e-3))
