import pytest
import torch


def naive(z, positives, negatives, alpha, beta, base):
    positives, negatives = set(positives), set(negatives)
    total = 0
    for i in range(len(z)):
        pull = [torch.exp(-alpha * (z[i] @ z[j] - base)) for k, j in positives if k == i]
        push = [torch.exp(beta * (z[i] @ z[j] - base)) for k, j in negatives if k == i]
        total = total + torch.log(1 + sum(pull, z.new_zeros(()))) / alpha
        total = total + torch.log(1 + sum(push, z.new_zeros(()))) / beta
    return total / len(z)


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize(("alpha", "beta", "base"), [(2.0, 50.0, 0.5), (10.0, 20.0, 0.9)])
def test_against_a_loop(check, kind, alpha, beta, base):
    check.of_pairs("multi_similarity", naive, kind, rescaled=lambda x: x / 3, alpha=alpha, beta=beta, base=base)
