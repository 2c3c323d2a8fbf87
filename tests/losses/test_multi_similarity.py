import pytest
import torch

import dml.losses


def naive(check, positives, negatives, alpha, beta, base, normalize):
    positives, negatives = set(positives), set(negatives)

    def of(x):
        z = check.unit_rows(x) if normalize else x
        total = 0
        for i in range(len(z)):
            pull = [torch.exp(-alpha * (z[i] @ z[j] - base)) for k, j in positives if k == i]
            push = [torch.exp(beta * (z[i] @ z[j] - base)) for k, j in negatives if k == i]
            total = total + torch.log(1 + sum(pull, x.new_zeros(()))) / alpha
            total = total + torch.log(1 + sum(push, x.new_zeros(()))) / beta
        return total / len(z)

    return of


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize(("alpha", "beta", "base"), [(2.0, 50.0, 0.5), (10.0, 20.0, 0.9)])
def test_against_a_loop(check, kind, alpha, beta, base):
    for seed, normalize in enumerate((True, False)):
        x, y = check.batch(seed)
        x = x if normalize else x / 3
        tuples = check.forms(y, seed)[kind]
        loss = dml.losses.build("multi_similarity", alpha=alpha, beta=beta, base=base, normalize=normalize)
        check.equal(loss, naive(check, *check.pair_lists(y, tuples), alpha, beta, base, normalize), x, y, tuples)


def test_large_similarities_do_not_overflow(check):
    x, y = check.batch(0, dtype=torch.float32)
    value, (gradient,) = check.value_and_gradient(
        lambda e: dml.losses.build("multi_similarity", normalize=False)(e, y), 20 * x
    )
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()
