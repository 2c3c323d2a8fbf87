"""k-means of both backends."""

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

from dml.evaluation import Vectors, _search
from dml.evaluation.clustering import contingency
from dml.evaluation.kmeans import Nearest, _update, kmeans
from dml.evaluation.metrics.scores import F1

BACKENDS = ["torch", pytest.param("faiss", marks=pytest.mark.skipif(not _search.has_faiss(), reason="no faiss"))]


def blobs(n=400, k=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return (5 * np.eye(k, 8)[labels] + 0.3 * rng.normal(size=(n, 8))).astype(np.float32), labels


def cost(vectors, clusters):
    x = vectors.working.double().numpy()
    total = 0.0
    for c in np.unique(clusters):
        own = x[clusters == c]
        centre = own.mean(0)
        if vectors.normalize:
            centre /= np.sqrt((centre**2).sum())
        total += ((own - centre) ** 2).sum()
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("normalize", [True, False])
def test_finds_separate_groups(backend, normalize):
    x, labels = blobs()
    found = kmeans(Vectors(x, normalize), 5, backend=backend)
    assert found.dtype == np.int64
    assert len(contingency(labels, found).counts) == 5


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("normalize", [True, False])
def test_as_good_as_scikit_learn(backend, normalize):
    vectors = Vectors(np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32), normalize)
    peer = KMeans(12, n_init=5, random_state=0).fit_predict(vectors.working.numpy())
    assert cost(vectors, kmeans(vectors, 12, backend=backend)) < 1.03 * cost(vectors, peer)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_point_is_in_the_cluster_of_the_nearest_centre(backend):
    """Normalised centres for normalised points: a wide cluster's plain mean would lie far inside the sphere."""
    rng = np.random.default_rng(0)
    wide, narrow = rng.normal(size=(300, 5)), 3 * np.eye(5)[0] + 0.3 * rng.normal(size=(300, 5))
    vectors = Vectors(np.concatenate([wide, narrow]).astype(np.float32))
    found, points = kmeans(vectors, 4, backend=backend), vectors.working.numpy()
    centres = np.stack([points[found == cluster].mean(0) for cluster in range(4)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    nearest = ((points[:, None] - centres) ** 2).sum(2).argmin(1)
    assert (nearest == found).mean() > 0.99


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_more_clusters_than_different_points(backend, k):
    x = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0)
    found = kmeans(Vectors(x), k, backend=backend)
    assert found.shape == (30,)
    assert 0 <= found.min() <= found.max() < k
    assert all(len(set(found[i : i + 10])) == 1 for i in (0, 10, 20))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1e-25, 1e19, 1e30])
def test_embeddings_whose_squares_float32_cannot_hold(backend, size):
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 4
    x = ((np.eye(4, 8)[labels] * 20 + rng.normal(size=(200, 8))) * size).astype(np.float32)
    found = kmeans(Vectors(x, normalize=False), 4, backend=backend)
    assert len({(a, b) for a, b in zip(labels, found, strict=True)}) == 4


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("spread", [3e-3, 5e-4, 1e-4, 1e-5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearly_equal_directions(backend, spread, dtype):
    """Whose products float32 cannot tell apart: the clusters are those of the same points around the origin."""
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 5
    x = np.eye(5, 12)[labels] + 0.05 * rng.normal(size=(300, 12))
    collapsed = (rng.normal(size=12) + spread * x).astype(dtype)
    found = kmeans(Vectors(collapsed), 5, backend=backend)
    assert len({(a, b) for a, b in zip(labels, found, strict=True)}) == 5


def test_as_many_clusters_as_points_are_the_points():
    x, _ = blobs(30)
    for k in (30, 31):
        np.testing.assert_array_equal(kmeans(Vectors(x), k), np.arange(30))


def test_errors():
    with pytest.raises(ValueError, match="expected k >= 1, got 0"):
        kmeans(Vectors(blobs(9)[0]), 0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dimensions", [16, 128, 512])
def test_ten_clusters_thirty_sigma_apart_are_found_from_every_seed(backend, dimensions):
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=1000)
    x = (30 / 2**0.5 * np.eye(10, dimensions)[labels] + rng.normal(size=(1000, dimensions))).astype(np.float32)
    for seed in range(5):
        assert F1()(contingency(labels, kmeans(Vectors(x, False), 10, seed=seed, backend=backend))) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_small_clusters_are_found(backend):
    """The shape of SOP: about five samples a class, whose nearest neighbours are all of their class."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.repeat(np.arange(300), 2), rng.integers(300, size=1000)])
    x = (1.5 * rng.normal(size=(1600, 512)) + rng.normal(size=(300, 512))[labels]).astype(np.float32)
    vectors = Vectors(x)
    assert F1()(contingency(labels, kmeans(vectors, 300, backend=backend))) > 0.85


@pytest.mark.skipif(not _search.has_faiss(), reason="no faiss")
@pytest.mark.parametrize("normalize", [True, False])
def test_the_backends_find_the_same_clusters(normalize):
    rng = np.random.default_rng(0)
    x = (2 * rng.normal(size=(30, 6))[rng.integers(30, size=500)] + 0.2 * rng.normal(size=(500, 6))).astype(np.float32)
    first, second = (kmeans(Vectors(x, normalize), 30, seed=3, backend=backend) for backend in ("torch", "faiss"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("moving", [1, 4, 15])
def test_only_moved_centres_are_compared_again(moving, count):
    draw = torch.Generator().manual_seed(0)
    points, centres = torch.randn(400, 3, generator=draw), torch.randn(20, 3, generator=draw)

    def find(rows, centres, count):
        distances, found = torch.cdist(points[rows], centres).square().sort(dim=1)
        return Nearest(found[:, :count], distances[:, :count])

    before = find(torch.arange(400), centres, 2)
    moved = torch.arange(20) < moving
    centres = centres + moved[:, None] * torch.randn(20, 3, generator=draw)
    nearest = _update(before, centres, moved, count, find)
    for value, expected in zip(nearest, find(torch.arange(400), centres, count), strict=True):
        torch.testing.assert_close(value, expected)
