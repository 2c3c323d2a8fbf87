import itertools
from functools import partial

import pytest
import torch

import dml.losses
from dml.losses import _triplets
from dml.types import Tuples

MODES = list(itertools.product(("euclidean", "squared"), ("mean", "nonzero", "sum")))


def valid_triples(y):
    n = range(len(y))
    return [(a, p, k) for a in n for p in n for k in n if a != p and y[a] == y[p] and y[a] != y[k]]


def naive(check, triples, distance, reduction, margin, normalize, x):
    z = check.unit_rows(x) if normalize else x
    table = check.distance_table(z)
    if distance == "squared":
        table = [[t**2 for t in row] for row in table]
    costs = []
    for a, p, n in triples:
        costs.append(torch.relu(table[a][p] - table[a][n] + margin))
    total = torch.stack(costs).sum() + 0 * x.sum()
    active = sum(float(c.detach()) > 0 for c in costs)
    return total / {"mean": len(costs), "nonzero": max(active, 1), "sum": 1}[reduction]


@pytest.mark.parametrize(("distance", "reduction"), MODES)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("way", ["sweep", "sort", "triples"])
def test_all_triplets_against_a_loop(check, monkeypatch, distance, reduction, normalize, way):
    if way == "sort":
        monkeypatch.setattr(_triplets, "SWEEP", -1)
    x, y = check.batch(int(normalize), duplicates=True)
    triples = valid_triples(y)
    loss = dml.losses.build("triplet", margin=0.3, distance=distance, reduction=reduction, normalize=normalize)
    tuples = Tuples(*torch.tensor(triples).T) if way == "triples" else None
    check.equal(loss, partial(naive, check, triples, distance, reduction, 0.3, normalize), x, y, tuples)


def test_the_ways_agree_in_blocks(check, monkeypatch):
    x, y = check.batch(0, sizes=(7, 1, 5, 3, 9), duplicates=False)
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positives, negatives = same.double().fill_diagonal_(0), (~same).double()
    expected = _triplets.all_triplets(d, positives, negatives, 0.4)
    monkeypatch.setattr(_triplets, "BLOCK", 60)
    ways = [_triplets.all_triplets(d, positives, negatives, 0.4)]
    ways.append(_triplets._sort(d, positives, negatives, 0.4))
    for got in ways:
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("way", ["sweep", "sort", "triples"])
def test_a_triplet_that_costs_exactly_zero_is_not_active(monkeypatch, way):
    """The same image under two labels, margin 0: d_ap = d_an."""
    if way == "sort":
        monkeypatch.setattr(_triplets, "SWEEP", -1)
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [1.0, 0.0]], requires_grad=True)
    y = torch.tensor([0, 0, 1, 1])
    loss = dml.losses.build("triplet", margin=0.0, reduction="sum", normalize=False)
    value = loss(x, y, Tuples(*torch.tensor(valid_triples(y)).T) if way == "triples" else None)
    costs = [torch.relu((x[a] - x[p]).norm() - (x[a] - x[n]).norm()) for a, p, n in valid_triples(y)]
    assert float(loss.stats["active_share"]) == sum(float(c.detach()) > 0 for c in costs) / len(costs)
    torch.testing.assert_close(value, torch.stack(costs).sum())
