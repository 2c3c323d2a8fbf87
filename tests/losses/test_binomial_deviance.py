import pytest
import torch

import dml.losses


def naive(z, positives, negatives, alpha, beta, negative_cost):
    total = 0 * z.sum()
    for pairs, slope in ((positives, -alpha), (negatives, alpha * negative_cost)):
        terms = [torch.log1p(torch.exp(slope * (z[i] @ z[j] - beta))) for i, j in pairs]
        total = total + sum(terms) / max(len(terms), 1)
    return total


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize(("alpha", "beta", "cost"), [(2.0, 0.5, 25.0), (1.0, 0.2, 4.0)])
def test_against_a_loop(check, kind, alpha, beta, cost):
    check.of_pairs(
        "binomial_deviance", naive, kind, rescaled=lambda x: x / 3, alpha=alpha, beta=beta, negative_cost=cost
    )


@pytest.mark.parametrize("name", ["binomial_deviance", "multi_similarity"])
def test_large_exponents_do_not_overflow(check, name):
    x, y = check.batch(0, dtype=torch.float32)
    value, gradient = check.run(dml.losses.build(name, normalize=False), 20 * x, y)
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()
