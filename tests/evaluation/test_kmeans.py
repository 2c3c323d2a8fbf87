"""k-means of both backends."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from dml.evaluation import Vectors, _search
from dml.evaluation.kmeans import kmeans
from dml.evaluation.metrics.scores import F1, contingency

BACKENDS = ["torch", pytest.param("faiss", marks=pytest.mark.skipif(not _search.has_faiss(), reason="no faiss"))]


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
