import itertools

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
