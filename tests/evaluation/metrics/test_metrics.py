"""Every metric: its contract, its golden numbers, and an independent reference of each."""

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, normalized_mutual_info_score
from sklearn.metrics.cluster import pair_confusion_matrix

from dml import discovery
from dml.evaluation import Vectors, _search, evaluate, metric_names
from dml.evaluation.kmeans import kmeans
from dml.evaluation.metrics import PACKAGE, metric_part
from dml.evaluation.metrics.scores import F1, Map, MapAtR, Precision, Recall, contingency
from dml.evaluation.ranking import Hits
from dml.protocols import ClusteringMetric, PairMetric, RetrievalMetric

NAMES = [name.replace("@K", "@2") for name in metric_names()]


PARTS = {name: discovery.build(PACKAGE, part, **settings) for name in NAMES for part, settings in [metric_part(name)]}
ORDERLESS = [name for name, part in PARTS.items() if isinstance(part, RetrievalMetric | PairMetric)]


@pytest.mark.parametrize("name", NAMES)
def test_has_the_members_of_one_protocol(name):
    assert isinstance(type(PARTS[name]).version, int)
    assert sum(isinstance(PARTS[name], kind) for kind in (RetrievalMetric, ClusteringMetric, PairMetric)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_range(case, name):
    for seed in range(3):
        x, labels = case(seed)
        value = evaluate(x, labels, [name], over_clustering=3)[name]
        assert isinstance(value, float)
        assert (-0.5 if name == "ami" else 0) <= value <= 1


@pytest.mark.parametrize("name", NAMES)
def test_perfect(name):
    labels = np.repeat(np.arange(4), 6)
    x = np.eye(4, dtype=np.float32)[labels] + 1e-3 * np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
    assert evaluate(x, labels, [name], over_clustering=1)[name] == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_classes_do_not_matter(case, name):
    x, labels = case(0)
    renamed = np.random.default_rng(0).permutation(labels.max() + 1)[labels] * 1000 - 500
    first, second = (evaluate(x, y, [name], over_clustering=3)[name] for y in (labels, renamed))
    assert first == pytest.approx(second)


@pytest.mark.parametrize("name", ORDERLESS)
def test_order_of_rows_does_not_matter(case, name):
    x, labels = case(0, duplicates=False)
    order = np.random.default_rng(0).permutation(len(x))
    assert evaluate(x, labels, [name]) == pytest.approx(evaluate(x[order], labels[order], [name]))


NAMES_GOLDEN = {metric_part(name.replace("@K", "@3"))[0]: name.replace("@K", "@3") for name in metric_names()}
BACKENDS = ["torch", *(["faiss"] if _search.has_faiss() else [])]


def embeddings():
    """float64 (72, 8) in 6 pairs of clusters, and the pair of each, int64 (72,): the same on every machine."""
    waves = np.sin(1.0 + np.arange(72 * 8) ** 2 % 1009).reshape(72, 8)
    pair, half = np.arange(72) * 5 % 6, np.arange(72) // 36
    return 20 * np.eye(6, 8)[pair] + 6 * half[:, None] * np.eye(8)[7] + 0.5 * waves, pair


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("part", discovery.names(PACKAGE))
def test_golden_numbers(golden, part, backend):
    """Labels that agree with the clusters, and labels that differ from them in a third of the rows."""
    x, easy = embeddings()
    hard = np.where(np.arange(72) % 3 == 1, (easy + np.arange(72) // 5) % 6, easy)
    options = {"normalize": False, "over_clustering": 2, "backend": backend}
    values = evaluate(torch.from_numpy(x), {"easy": easy, "hard": hard}, [NAMES_GOLDEN[part]], **options)
    golden.check("metrics", part, discovery.find(PACKAGE, part), values)


@pytest.mark.parametrize("seed", range(5))
def test_against_the_pair_confusion_matrix(seed):
    rng = np.random.default_rng(seed)
    y, c = rng.integers(6, size=80), rng.integers(1 + 3 * seed, size=80)
    (_, fp), (fn, tp) = pair_confusion_matrix(y, c)
    assert F1()(contingency(y, c)) == pytest.approx(2 * tp / (2 * tp + fp + fn))


def test_no_pairs_and_many():
    one = np.arange(5)
    assert F1()(contingency(one, one)) == 1
    assert F1()(contingency(one, 0 * one)) == 0
    many = np.zeros(3_000_000, dtype=np.int64)
    assert F1()(contingency(many, many)) == 1


def test_by_hand():
    hits = Hits(np.array([0, 0, 1]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 1]))
    np.testing.assert_allclose(Map()(hits), [(1 / 2 + 2 / 3) / 2, 1])
    assert Map().depth(3) is None


def test_against_scikit_learn(case):
    x, labels = case(0, duplicates=False)
    y = x / np.linalg.norm(x, axis=1, keepdims=True)
    values = []
    for q in range(len(y)):
        others = np.arange(len(y)) != q
        if (labels[others] == labels[q]).any():
            values.append(average_precision_score(labels[others] == labels[q], y[others] @ y[q]))
    assert evaluate(x, labels, ["map"])["map"] == pytest.approx(np.mean(values), abs=1e-6)


def test_divides_by_r_and_looks_no_farther():
    hits = Hits(np.array([0, 0, 2]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 4, 3]))
    np.testing.assert_allclose(MapAtR()(hits), [1 / 2 / 2, 0, 1 / 3])
    assert MapAtR().depth(17) == 17


@pytest.mark.parametrize("seed", range(3))
def test_against_pytorch_metric_learning(case, seed):
    pytest.importorskip("faiss")  # the peer needs it
    accuracy = pytest.importorskip("pytorch_metric_learning.utils.accuracy_calculator")
    peer = accuracy.AccuracyCalculator(include=("mean_average_precision_at_r",), k="max_bin_count")
    x, labels = case(seed, duplicates=False)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    assert evaluate(x, labels, ["map@r"])["map@r"] == pytest.approx(
        peer.get_accuracy(x, labels)["mean_average_precision_at_r"]
    )


def test_is_the_nmi_of_more_clusters(case):
    x, labels = case(0)
    classes = len(np.unique(labels))
    clusters = kmeans(Vectors(x), 4 * classes, seed=2)
    expected = normalized_mutual_info_score(labels, clusters, average_method="geometric")
    scores = evaluate(x, labels, ["nmi+"], over_clustering=4, nmi_average="geometric", seed=2)
    assert scores["nmi+"] == pytest.approx(expected)


def test_modes_of_a_class_are_not_punished():
    rng = np.random.default_rng(0)
    modes = np.repeat(np.arange(8), 20)
    x = (np.eye(8)[modes] + 0.01 * rng.normal(size=(160, 8))).astype(np.float32)
    scores = evaluate(x, modes % 2, ["nmi", "nmi+"], over_clustering=4)
    assert scores["nmi"] < 0.3
    assert scores["nmi+"] == pytest.approx(2 * np.log(2) / (np.log(2) + np.log(8)), abs=1e-6)


# Three queries: hits at ranks 2 and 3; none found; at rank 1.
HITS = Hits(np.array([0, 0, 2]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 4, 1]))


def test_share_of_the_nearest():
    np.testing.assert_allclose(Precision(3)(HITS), [2 / 3, 0, 1 / 3])
    assert Precision(3).depth(100) == 3


@pytest.mark.parametrize(("k", "values"), [(1, [0, 0, 1]), (2, [1, 0, 1]), (3, [1, 0, 1])])
def test_any_hit_counts_once(k, values):
    np.testing.assert_array_equal(Recall(k)(HITS), values)
    assert Recall(k).depth(100) == k
