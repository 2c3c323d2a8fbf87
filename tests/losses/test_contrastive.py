from __future__ import annotations

import itertools
import warnings

import pytest
import torch

import dml.losses

pytestmark = pytest.mark.slow


def naive(check, positives, negatives, form, reduction, margin, normalize):
    def of(x):
        table = check.distance_table(check.unit_rows(x) if normalize else x)
        costs = []
        for i, j in positives:
            costs.append(table[i][j] ** 2 * (0.5 if form == "hadsell" else 1))
        for i, j in negatives:
            d = table[i][j]
            costs.append(torch.relu(margin - d) ** 2 / 2 if form == "hadsell" else torch.relu(margin - d**2))
        active = sum(float(c.detach()) > 0 for c in costs)
        return torch.stack(costs).sum() / {"mean": len(costs), "nonzero": max(active, 1), "sum": 1}[reduction]

    return of


@pytest.mark.parametrize(("form", "reduction"), itertools.product(("hadsell", "squared"), ("mean", "nonzero", "sum")))
@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
def test_against_a_loop(check, form, reduction, kind):
    for seed, normalize in enumerate((True, False)):
        x, y = check.batch(seed)
        tuples = check.forms(y, seed)[kind]
        loss = dml.losses.build("contrastive", margin=1.1, form=form, reduction=reduction, normalize=normalize)
        reference = naive(check, *check.pair_lists(y, tuples), form, reduction, 1.1, normalize)
        check.equal(loss, reference, x, y, tuples)


@pytest.mark.parametrize("kind", ["none", "triples", "lists"])
def test_equals_pytorch_metric_learning(check, kind):
    """Theirs, on squared distances and summed, is the `squared` form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pml = pytest.importorskip("pytorch_metric_learning")
        from pytorch_metric_learning import distances, losses, reducers
    assert pml.__version__
    theirs = losses.ContrastiveLoss(
        pos_margin=0, neg_margin=1, distance=distances.LpDistance(power=2), reducer=reducers.SumReducer()
    )
    x, y = check.batch(7, duplicates=False)
    tuples = check.forms(y, 0)[kind]
    if kind == "triples":
        tuples = tuple(t[t >= 0] for t in tuples)
    ours = dml.losses.build("contrastive", form="squared", reduction="sum")
    check.equal(ours, lambda e: theirs(e, y, tuples), x, y, tuples)


def test_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match=r"form.*hadsell, squared.*'cosine'"):
        dml.losses.build("contrastive", form="cosine")
