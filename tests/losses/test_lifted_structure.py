from functools import partial

import pytest
import torch

import dml.losses


def naive(check, z, positives, negatives, margin):
    positives, negatives = sorted(set(positives)), set(negatives)
    table = check.distance_table(z)
    total = 0 * z.sum()
    for i, j in positives:
        terms = [torch.exp(margin - table[k][n]) for k, n in negatives if k in (i, j)]
        if terms:
            total = total + torch.relu(torch.log(sum(terms)) + table[i][j]) ** 2 / 2
    return total / max(len(positives), 1)


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize("margin", [1.0, -1.5])
def test_against_a_loop(check, kind, margin):
    check.of_pairs("lifted_structure", partial(naive, check), kind, margin=margin)


def test_a_pair_whose_ends_have_no_negative_costs_nothing(check):
    x, y = check.batch(0)
    pairs = check.some_pairs(y, 0)
    pairs.negatives[: len(y) // 2] = False
    reference = lambda e: naive(check, check.unit_rows(e), *check.pair_lists(y, pairs), 1.0)  # noqa: E731
    check.equal(dml.losses.build("lifted_structure"), reference, x, y, pairs)
