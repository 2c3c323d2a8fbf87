import pytest
import torch

import dml.losses


def naive(z, positives, negatives, bins):
    """Node by node, pair by pair, by the definition."""
    positives, negatives = ({(min(p), max(p)) for p in pairs} for pairs in (positives, negatives))
    nodes = torch.linspace(-1, 1, bins, dtype=z.dtype)
    step = 2 / (bins - 1)

    def histogram(pairs):
        total = z.new_zeros(bins)
        for i, j in pairs:
            s = (z[i] @ z[j]).clamp(-1, 1)
            total = total + torch.relu(1 - (s - nodes).abs() / step)
        return total / max(len(pairs), 1)

    return (histogram(negatives) * histogram(positives).cumsum(0)).sum()


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize("bins", [2, 11, 201])
def test_against_a_loop(check, kind, bins):
    check.of_pairs("histogram", naive, kind, False, lambda x: x / x.norm(dim=1, keepdim=True) * 0.9, bins=bins)


def test_no_gradient_where_similarities_are_clamped(check):
    """Without normalisation s leaves [-1, 1]; there the loss is constant."""
    x, y = check.batch(0, duplicates=False)
    x = x / 2
    similarities = x @ x.T
    assert 0 < (similarities.abs() > 1).sum() < similarities.numel()
    reference = lambda e: naive(e, *check.pair_lists(y), 21)  # noqa: E731
    check.equal(dml.losses.build("histogram", bins=21, normalize=False), reference, x, y)
    _, gradient = check.run(
        dml.losses.build("histogram", normalize=False), 100 * torch.eye(4) + 50, y[:4] * 0 + torch.arange(4) // 2
    )
    assert torch.all(gradient == 0)


def test_a_pair_may_be_a_positive_and_a_negative(check):
    """As `WrongPairs` makes them."""
    x, y = check.batch(0)
    (first, second), (a, b) = check.pair_lists(y), (torch.tensor(pairs).T for pairs in check.pair_lists(y))
    tuples = (*torch.cat([a, b[:, :9]], dim=1), *torch.cat([b, a[:, :5]], dim=1))
    reference = lambda e: naive(check.unit_rows(e), first + second[:9], second + first[:5], 21)  # noqa: E731
    check.equal(dml.losses.build("histogram", bins=21), reference, x, y, tuples)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_similarity_that_is_not_a_number_makes_the_value_nan(check, normalize):
    """It has no node, and must not be an index beyond the histogram's."""
    x, y = check.batch(5)
    x[3] = torch.nan
    assert dml.losses.build("histogram", normalize=normalize)(x, y).isnan()
    assert dml.losses.build("histogram", normalize=normalize)(x * torch.nan, y).isnan()
