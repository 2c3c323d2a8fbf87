import itertools
from functools import partial

import pytest
import torch

pytestmark = pytest.mark.slow


def naive(check, z, positives, negatives, form, reduction, margin):
    table = check.distance_table(z)
    costs = []
    for i, j in positives:
        costs.append(table[i][j] ** 2 * (0.5 if form == "hadsell" else 1))
    for i, j in negatives:
        d = table[i][j]
        costs.append(torch.relu(margin - d) ** 2 / 2 if form == "hadsell" else torch.relu(margin - d**2))
    active = sum(float(c.detach()) > 0 for c in costs)
    return torch.stack(costs).sum() / {"mean": len(costs), "nonzero": max(active, 1), "sum": 1}[reduction]


@pytest.mark.parametrize(("form", "reduction"), itertools.product(("hadsell", "squared"), ("mean", "nonzero", "sum")))
@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
def test_against_a_loop(check, form, reduction, kind):
    check.of_pairs("contrastive", partial(naive, check), kind, margin=1.1, form=form, reduction=reduction)
