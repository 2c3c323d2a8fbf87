"""The AUC of pairs beside scikit-learn's, from a list of all pairs."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dml.evaluation import _evaluate, evaluate

pytestmark = pytest.mark.slow


def reference(x, labels, *, normalize, queries=None, gallery=None, cameras=None):
    x = x.astype(np.float64)
    if normalize:
        x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    rows = range(len(x))
    if queries is None and gallery is None:
        pairs = list(itertools.combinations(rows, 2))
    else:
        asking, searched = (rows if m is None else np.flatnonzero(m) for m in (queries, gallery))
        pairs = [(q, g) for q in asking for g in searched if q != g]
    if cameras is not None:
        pairs = [(q, g) for q, g in pairs if labels[q] != labels[g] or cameras[q] != cameras[g] or cameras[q] < 0]
    same = [labels[q] == labels[g] for q, g in pairs]
    return roc_auc_score(same, [-np.linalg.norm(x[q] - x[g]) for q, g in pairs])


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("with_cameras", [False, True])
def test_it_is_scikit_learns(case, monkeypatch, normalize, masked, with_cameras):
    x, labels = case(3)
    draw = np.random.default_rng(0)
    x[:5] *= 128  # far from the others, if points are compared; their directions stay the same to the last bit
    given = {"queries": draw.random(len(x)) < 0.4, "gallery": draw.random(len(x)) < 0.7} if masked else {}
    if with_cameras:
        given["cameras"] = draw.integers(-1, 3, size=len(x))
    expected = reference(x, labels, normalize=normalize, **given)
    monkeypatch.setattr(_evaluate, "CHUNK", 1000)  # several blocks
    found = evaluate(x, {"a": labels, "b": labels % 2}, ["pair_auc", "recall@1"], normalize=normalize, **given)
    assert found["a/pair_auc"] == pytest.approx(expected, abs=1e-5)
    if not with_cameras:
        assert found["b/pair_auc"] == pytest.approx(reference(x, labels % 2, normalize=normalize, **given), abs=1e-5)


@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_one_long_row_hides_no_distance(case, scale):
    x, labels = case(5)
    x[7] *= np.float32(scale)
    expected = reference(x, labels, normalize=False)
    assert evaluate(x, labels, ["pair_auc"], normalize=False)["pair_auc"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("spread", [1e-2, 1e-4])
def test_nearly_collapsed_embeddings_are_told_apart(case, spread):
    x, labels = case(6, d=64)
    x = 1 + spread * x.astype(np.float64)
    expected = reference(x, labels, normalize=True)
    assert 0.6 < expected < 1
    assert evaluate(x, labels, ["pair_auc"])["pair_auc"] == pytest.approx(expected, abs=1e-5)
