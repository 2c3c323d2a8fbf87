import pytest
import torch

import dml.losses


def naive(check, positives, negatives, alpha, beta, cost, normalize):
    def of(x):
        z = check.unit_rows(x) if normalize else x
        total = 0 * x.sum()
        if positives:
            total = total + sum(torch.log1p(torch.exp(-alpha * (z[i] @ z[j] - beta))) for i, j in positives) / len(
                positives
            )
        if negatives:
            terms = (torch.log1p(torch.exp(alpha * cost * (z[i] @ z[j] - beta))) for i, j in negatives)
            total = total + sum(terms) / len(negatives)
        return total

    return of


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize(("alpha", "beta", "cost"), [(2.0, 0.5, 25.0), (1.0, 0.2, 4.0)])
def test_against_a_loop(check, kind, alpha, beta, cost):
    for seed, normalize in enumerate((True, False)):
        x, y = check.batch(seed)
        x = x if normalize else x / 3
        tuples = check.forms(y, seed)[kind]
        loss = dml.losses.build("binomial_deviance", alpha=alpha, beta=beta, negative_cost=cost, normalize=normalize)
        check.equal(loss, naive(check, *check.pair_lists(y, tuples), alpha, beta, cost, normalize), x, y, tuples)


def test_large_exponents_do_not_overflow(check):
    x, y = check.batch(0, dtype=torch.float32)
    loss = dml.losses.build("binomial_deviance", normalize=False)
    value, (gradient,) = check.value_and_gradient(lambda e: loss(e, y), 20 * x)
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()
