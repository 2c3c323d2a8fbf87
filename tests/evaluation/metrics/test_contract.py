"""The contract of every metric: found by name, values in 0..1, 1 for a perfect embedding, blind to order and names."""

import numpy as np
import pytest

from dml import discovery
from dml.evaluation import evaluate, metric_names
from dml.evaluation.metrics._names import PACKAGE, metric_part
from dml.protocols import ClusteringMetric, PairMetric, RetrievalMetric

NAMES = [name.replace("@K", "@2") for name in metric_names()]


PARTS = {name: discovery.build(PACKAGE, part, **settings) for name in NAMES for part, settings in [metric_part(name)]}
ORDERLESS = [name for name, part in PARTS.items() if isinstance(part, RetrievalMetric | PairMetric)]


def test_all_are_found():
    assert set(NAMES) >= {"recall@2", "precision@2", "map@r", "map", "nmi", "nmi+", "ami", "f1", "pair_auc"}


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
