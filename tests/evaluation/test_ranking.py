"""The order of neighbours, against float64 loops, whatever the backend."""

import numpy as np
import pytest
import torch

from dml.evaluation import Vectors, _search, evaluate, ranking
from dml.evaluation.ranking import ExactDistances, Neighbours

BACKENDS = ["torch", pytest.param("faiss", marks=pytest.mark.skipif(not _search.has_faiss(), reason="no faiss"))]


def order(x, k, backend, normalize=True, queries=None, gallery=None):
    vectors = Vectors(x, normalize)
    rows = [torch.arange(len(x)) if r is None else torch.from_numpy(np.flatnonzero(r)) for r in (queries, gallery)]
    return torch.cat([found for _, found in Neighbours(vectors, *rows, backend).blocks(k)]).numpy()


def reference(x, k, normalize):
    x = x.astype(np.float64)
    if normalize:
        x /= np.sqrt((x * x).sum(1))[:, None]
    d = ((x[:, None] - x[None]) ** 2).sum(2)
    return np.argsort(d, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("k", [1, 5, 40, 120])
@pytest.mark.parametrize("seed", range(3))
def test_order_is_by_distance_then_index(case, backend, normalize, k, seed):
    x, _ = case(seed)
    np.testing.assert_array_equal(order(x, k, backend, normalize), reference(x, k, normalize))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("spread", [1e-2, 1e-4, 1e-6])
def test_near_ties_that_float32_cannot_tell(backend, spread):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=16) + spread * rng.normal(size=(300, 16))).astype(np.float32)
    for normalize in (True, False):
        np.testing.assert_array_equal(order(x, 6, backend, normalize), reference(x, 6, normalize))


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("spread", [3e-8, 1e-6])
@pytest.mark.parametrize("n", [600, 2400])
def test_groups_of_near_duplicates(n, spread, normalize):
    """More of them than spare candidates, and nearer to each other than a float64 product can tell."""
    rng = np.random.default_rng(0)
    centres = np.repeat(rng.normal(size=(n // 6, 32)), 6, axis=0)
    x = (centres * (1 + spread * rng.normal(size=centres.shape))).astype(np.float32)
    labels = rng.integers(3, size=n)
    wide = x.astype(np.longdouble)
    if normalize:
        wide /= np.sqrt((wide**2).sum(1, keepdims=True))
    group = np.arange(n).reshape(-1, 6).repeat(6, axis=0)  # the nearest are of the same six
    distances = ((wide[:, None] - wide[group]) ** 2).sum(2).astype(np.float64)
    distances[group == np.arange(n)[:, None]] = np.inf
    nearest = np.take_along_axis(group, np.lexsort((group, distances), axis=1)[:, :1], axis=1)[:, 0]
    for metrics in (["recall@1"], ["recall@1", "map"]):
        found = evaluate(x, labels, metrics, normalize=normalize, per_query=True).per_query["recall@1"]
        np.testing.assert_array_equal(found, labels[nearest] == labels)


def test_ties_do_not_change_another_levels_ranks():
    """Both levels are ranked by the same distances, whatever is settled at the first."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(40, 6)), 5, axis=0).astype(np.float32)
    labels = {"fine": rng.integers(8, size=200), "coarse": rng.integers(2, size=200)}
    both = evaluate(x, labels, ["map"])
    assert both == {f"{level}/map": evaluate(x, labels[level], ["map"])["map"] for level in labels}


def test_gallery_in_tiles_and_queries_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(301, 5)).astype(np.float32)
    expected = reference(x, 7, True)
    tiled = _search._torch(Vectors(x).working, Vectors(x).squares, tile=50)
    np.testing.assert_array_equal(tiled(Vectors(x).working, 7)[1].numpy(), expected)
    monkeypatch.setattr(ranking, "CHUNK", 301 * 3)
    np.testing.assert_array_equal(order(x, 7, "torch"), expected)
    np.testing.assert_array_equal(order(x, 301, "torch"), reference(x, 301, True))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("k", [5, 120])
def test_cuda_gives_the_same_order(case, k):
    x, _ = case(0)
    vectors = Vectors(x, device="cuda")
    rows = torch.arange(len(x), device="cuda")
    found = torch.cat([found for _, found in Neighbours(vectors, rows, rows).blocks(k)]).cpu().numpy()
    np.testing.assert_array_equal(found, reference(x, k, True))


def test_duplicates_tie_whatever_the_products_say():
    x = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    x[[7, 30, 12]] = x[3]
    x[41] = 2 * x[20]  # of the same direction
    exact = ExactDistances(Vectors(x), torch.arange(50))
    exact(torch.arange(50))
    copies, originals = exact._copies
    assert dict(zip(copies.tolist(), originals.tolist(), strict=True)) == {7: 3, 12: 3, 30: 3, 41: 20}
    exact._kept[[7, 41]] += 1e-9  # as rounding may do, depending on a column's place
    distances = exact(torch.arange(50))
    assert (distances[:, 7] == distances[:, 3]).all()
    assert (distances[:, 41] == distances[:, 20]).all()
