import pytest
import torch

import dml.losses


def naive(check, positives, negatives, margin, normalize):
    positives, negatives = sorted(set(positives)), set(negatives)

    def of(x):
        table = check.distance_table(check.unit_rows(x) if normalize else x)
        total = 0 * x.sum()
        for i, j in positives:
            terms = [torch.exp(margin - table[k][n]) for k, n in negatives if k in (i, j)]
            if terms:
                total = total + torch.relu(torch.log(sum(terms)) + table[i][j]) ** 2 / 2
        return total / max(len(positives), 1)

    return of


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize("margin", [1.0, -1.5])
def test_against_a_loop(check, kind, margin):
    for seed, normalize in enumerate((True, False)):
        x, y = check.batch(seed)
        tuples = check.forms(y, seed)[kind]
        loss = dml.losses.build("lifted_structure", margin=margin, normalize=normalize)
        check.equal(loss, naive(check, *check.pair_lists(y, tuples), margin, normalize), x, y, tuples)


def test_a_pair_whose_ends_have_no_negative_costs_nothing(check):
    x, y = check.batch(0)
    pairs = check.some_pairs(y, 0)
    pairs.negatives[: len(y) // 2] = False
    loss = dml.losses.build("lifted_structure")
    check.equal(loss, naive(check, *check.pair_lists(y, pairs), 1.0, True), x, y, pairs)
