from __future__ import annotations

import warnings

import pytest
import torch

import dml.losses


def naive(check, positives, negatives, bins, normalize):
    """Node by node, pair by pair, by the definition."""
    positives, negatives = ({(min(p), max(p)) for p in pairs} for pairs in (positives, negatives))

    def of(x):
        z = check.unit_rows(x) if normalize else x
        nodes = torch.linspace(-1, 1, bins, dtype=x.dtype)
        step = 2 / (bins - 1)

        def histogram(pairs):
            total = x.new_zeros(bins)
            for i, j in pairs:
                s = (z[i] @ z[j]).clamp(-1, 1)
                total = total + torch.relu(1 - (s - nodes).abs() / step)
            return total / max(len(pairs), 1)

        return (histogram(negatives) * histogram(positives).cumsum(0)).sum()

    return of


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
@pytest.mark.parametrize("bins", [2, 11, 201])
def test_against_a_loop(check, kind, bins):
    for seed, normalize in enumerate((True, False)):
        x, y = check.batch(seed, duplicates=False)
        x = x if normalize else x / x.norm(dim=1, keepdim=True) * 0.9
        tuples = check.forms(y, seed)[kind]
        loss = dml.losses.build("histogram", bins=bins, normalize=normalize)
        check.equal(loss, naive(check, *check.pair_lists(y, tuples), bins, normalize), x, y, tuples)


def test_gradient_against_finite_differences(check):
    x, y = check.batch(1, duplicates=False)
    loss = dml.losses.build("histogram")
    assert torch.autograd.gradcheck(lambda e: loss(e, y), (x.requires_grad_(),), eps=1e-7, atol=1e-5)


def test_uses_all_quadruplets(check):
    """As bins grow, it is the share of all (positive, negative) pairs of pairs whose negative is the more similar."""
    x, y = check.batch(2, sizes=(6, 4, 5, 1, 7), duplicates=False)
    z = check.unit_rows(x)
    positives, negatives = check.pair_lists(y)
    s_positive = torch.stack([z[i] @ z[j] for i, j in positives])
    s_negative = torch.stack([z[i] @ z[j] for i, j in negatives])
    probability = (s_negative[:, None] > s_positive).double().mean()
    errors = [float((dml.losses.build("histogram", bins=b)(x, y) - probability).abs()) for b in (21, 201, 200_001)]
    assert errors[2] < 1e-4 < errors[0]


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence:UserWarning")
@pytest.mark.parametrize("mined", [False, True])
def test_equals_pytorch_metric_learning(check, mined):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = pytest.importorskip("pytorch_metric_learning.losses")
    x, y = check.batch(3, duplicates=False)
    triples = tuple(t[t >= 0] for t in check.some_triples(y, 0)) if mined else None
    theirs = losses.HistogramLoss(n_bins=100)  # places pairs in float32, whatever the embeddings
    if mined:
        check.equal(dml.losses.build("histogram", bins=101), lambda e: theirs(e, y, triples), x, y, triples, rtol=1e-5)
    else:
        # An anchor without a positive has no triple, so theirs leaves its negative pairs out.
        x, y = check.batch(3, sizes=(4, 3, 2, 5), duplicates=False)
        check.equal(dml.losses.build("histogram", bins=101), lambda e: theirs(e, y), x, y, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_duplicate_images_are_no_error(check, dtype):
    """s = 1, or 1 and a rounding error."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(4, 37, generator=g, dtype=dtype).repeat(8, 1)
    y = torch.arange(4).repeat(8)
    y[:4] = 0
    value, (gradient,) = check.value_and_gradient(lambda e: dml.losses.build("histogram")(e, y), x)
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()


def test_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="bins"):
        dml.losses.build("histogram", bins=1)


def test_no_gradient_where_similarities_are_clamped(check):
    """Without normalisation s leaves [-1, 1]; there the loss is constant."""
    x, y = check.batch(0, duplicates=False)
    positives, negatives = check.pair_lists(y)
    x = x / 2
    similarities = x @ x.T
    assert 0 < (similarities.abs() > 1).sum() < similarities.numel()
    reference = naive(check, positives, negatives, 21, False)
    check.equal(dml.losses.build("histogram", bins=21, normalize=False), reference, x, y)
    _, gradient = check.run(
        dml.losses.build("histogram", normalize=False), 100 * torch.eye(4) + 50, y[:4] * 0 + torch.arange(4) // 2
    )
    assert torch.all(gradient == 0)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_similarity_that_is_not_a_number_makes_the_value_nan(check, normalize):
    """It has no node, and must not be an index beyond the histogram's."""
    x, y = check.batch(5)
    x[3] = torch.nan
    assert dml.losses.build("histogram", normalize=normalize)(x, y).isnan()
    assert dml.losses.build("histogram", normalize=normalize)(x * torch.nan, y).isnan()
