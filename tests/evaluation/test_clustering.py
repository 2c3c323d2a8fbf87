"""k-means of both backends, and the table of classes against clusters."""

import numpy as np
import pytest
import torch
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from dml.evaluation import Vectors, _search
from dml.evaluation.clustering import contingency, entropy, mean_entropy, mutual_information
from dml.evaluation.kmeans import _means, kmeans

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
    found = kmeans(Vectors(x, normalize), 5, restarts=10, backend=backend)
    assert found.dtype == np.int64
    assert len(contingency(labels, found).counts) == 5


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("normalize", [True, False])
def test_as_good_as_scikit_learn(backend, normalize):
    sklearn_cluster = pytest.importorskip("sklearn.cluster")
    vectors = Vectors(np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32), normalize)
    peer = sklearn_cluster.KMeans(12, n_init=5, random_state=0).fit_predict(vectors.working.numpy())
    assert cost(vectors, kmeans(vectors, 12, restarts=5, backend=backend)) < 1.03 * cost(vectors, peer)


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
def test_restarts_never_worsen_and_seeds_differ(backend):
    vectors = Vectors(np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32))
    runs = [kmeans(vectors, 9, seed=seed, backend=backend) for seed in range(3)]
    assert any((runs[0] != run).any() for run in runs[1:])
    for seed in range(3):
        one, many = (cost(vectors, kmeans(vectors, 9, seed=seed, restarts=r, backend=backend)) for r in (1, 8))
        assert many <= one + 1e-4


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
    found = kmeans(Vectors(x, normalize=False), 4, restarts=5, backend=backend)
    assert len({(a, b) for a, b in zip(labels, found, strict=True)}) == 4


def test_as_many_clusters_as_points_are_the_points():
    x, _ = blobs(30)
    for k in (30, 31):
        np.testing.assert_array_equal(kmeans(Vectors(x), k), np.arange(30))


def test_an_empty_cluster_takes_half_of_the_largest():
    points = torch.cat([torch.eye(4)[:1].repeat(8, 1), torch.eye(4)[1:2]])
    centres = _means(points, torch.tensor([0] * 8 + [1]), 3, spherical=False)
    assert (centres[0] - centres[2]).abs().max() > 0
    torch.testing.assert_close((centres[0] + centres[2]) / 2, points[0])
    torch.testing.assert_close(centres[1], points[8])


@pytest.mark.parametrize("seed", range(3))
def test_table_against_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, clusters = rng.integers(9, size=200) * 7 - 20, rng.integers(30, size=200)
    table = contingency(labels, clusters)
    dense = np.zeros((len(table.classes), len(table.clusters)), dtype=np.int64)
    dense[table.rows, table.columns] = table.counts
    np.testing.assert_array_equal(dense, contingency_matrix(labels, clusters))
    np.testing.assert_array_equal(dense.sum(1), table.classes)
    np.testing.assert_array_equal(dense.sum(0), table.clusters)
    assert mutual_information(table) == pytest.approx(mutual_info_score(labels, clusters))


def test_entropy_and_means():
    assert entropy(np.array([4, 4])) == pytest.approx(np.log(2))
    assert entropy(np.array([3])) == 0
    assert mean_entropy(1.0, 4.0, "arithmetic") == 2.5
    assert mean_entropy(1.0, 4.0, "geometric") == 2.0
    with pytest.raises(ValueError, match="harmonic"):
        mean_entropy(1.0, 1.0, "harmonic")


@pytest.mark.parametrize("options", [{"k": 0}, {"k": 2, "restarts": 0}])
def test_errors(options):
    with pytest.raises(ValueError, match="expected k >= 1"):
        kmeans(Vectors(blobs(9)[0]), **options)
