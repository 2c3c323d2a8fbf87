"""Pairs and hardest distances against loops over samples, with the closest points found by scipy."""

import itertools

import pytest
import torch
from scipy.optimize import minimize

from dml.losses import synthesis

CHOICES = ("loop", "loop_linear", "embedding_expansion")


def naive_pairs(labels):
    """The 1st with the 2nd of a class, the 3rd with the 4th; classes in ascending order."""
    pairs = []
    for value in sorted(set(labels.tolist())):
        members = (labels == value).nonzero().flatten().tolist()
        pairs += list(zip(members[::2], members[1::2], strict=False))
    return pairs


def on_segment(start, end, share, normalize):
    point = (1 - share) * start + share * end
    return point / point.norm() if normalize else point


def naive_distance(x1, x2, y1, y2, kind, points):
    """Differentiable: the best shares are found first and held constant."""
    normalize = kind != "loop_linear"
    if kind == "embedding_expansion":
        shares = [k / (points + 1) for k in range(points + 2)]
        options = list(itertools.product(shares, shares))
    else:

        def value(shares):
            p1 = on_segment(x1.detach(), x2.detach(), shares[0], normalize)
            p2 = on_segment(y1.detach(), y2.detach(), shares[1], normalize)
            return (p1 - p2).square().sum().item()

        starts = [(0.5, 0.5), (0, 0), (0, 1), (1, 0), (1, 1)]
        options = [
            minimize(value, start, bounds=[(0, 1)] * 2, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}).x
            for start in starts
        ]
    distances = [(on_segment(x1, x2, s, normalize) - on_segment(y1, y2, t, normalize)).norm() for s, t in options]
    return min(distances, key=lambda d: d.item())


def batch(seed, sizes=(4, 1, 3, 2), dimensions=4, normalize=True):
    g = torch.Generator().manual_seed(seed)
    y = torch.cat([torch.full((size,), 2**25 + k) for k, size in enumerate(sizes)])
    x = torch.randn(len(y), dimensions, generator=g, dtype=torch.float64) + 0.3
    order = torch.randperm(len(y), generator=g)
    return torch.nn.functional.normalize(x, dim=1) if normalize else x, y[order]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 31, 64])
@pytest.mark.parametrize("classes", [1, 3, 40])
def test_pairs(count, classes):
    g = torch.Generator().manual_seed(count)
    labels = torch.randint(-2, classes - 2, (count,), generator=g)
    pairs = synthesis.positive_pairs(labels)
    assert [len(t) for t in pairs] == [count // 2] * 3
    found = list(zip(pairs.first[pairs.valid].tolist(), pairs.second[pairs.valid].tolist(), strict=True))
    assert found == naive_pairs(labels)
    assert ((pairs.first >= 0) & (pairs.first < count) & (pairs.second >= 0) & (pairs.second < count)).all()
    assert torch.equal(pairs.valid, pairs.valid.sort(descending=True).values)


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("seed", range(3))
def test_hardest(kind, seed):
    x, y = batch(seed, dimensions=(2, 3, 6)[seed], normalize=kind != "loop_linear")
    leaf, naive_leaf = x.clone().requires_grad_(), x.clone().requires_grad_()
    found = synthesis.hardest(leaf, y, kind, points=seed + 1, normalize=kind != "loop_linear")
    pairs = naive_pairs(y)
    expected = torch.zeros_like(found.negative)
    for (a, (i, j)), (b, (k, l)) in itertools.product(enumerate(pairs), enumerate(pairs)):
        assert found.mask[a, b].item() == (y[i] != y[k]).item()
        if y[i] != y[k]:
            ends = (naive_leaf[n] for n in (i, j, k, l))
            expected[a, b] = naive_distance(*ends, kind, seed + 1)
    assert found.mask.sum() == (expected > 0).sum() > 0
    torch.testing.assert_close(found.negative[found.mask], expected[found.mask], rtol=1e-6, atol=1e-6)
    for p, (i, j) in enumerate(pairs):
        assert found.positive[p].item() == pytest.approx((x[i] - x[j]).norm().item(), abs=1e-12)

    # A weighted sum, so that no symmetry hides an error; away from distance 0, where there is no slope. Through the
    # normalisation, since along the rows the two extensions off the sphere differ.
    weight = torch.rand(found.negative.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weight = weight * found.mask * (found.negative.detach() > 1e-3)
    gradients = []
    for value, variable in ((found.negative, leaf), (expected, naive_leaf)):
        (gradient,) = torch.autograd.grad((weight * value).sum(), variable)
        along = (gradient * x).sum(1, keepdim=True) * x if kind != "loop_linear" else 0
        gradients.append(gradient - along)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", synthesis.SYNTHESES)
def test_nearest(kind):
    x, y = batch(5, sizes=(4, 1, 3, 2, 6), dimensions=3)
    near = synthesis.nearest(x, y, kind)
    for p, (i, j) in enumerate(naive_pairs(y)):
        if kind == "none":
            expected = min((x[a] - x[k]).norm() for a in (i, j) for k in range(len(y)) if y[k] != y[i])
        else:
            found = synthesis.hardest(x, y, kind)
            expected = found.negative[p][found.mask[p]].min()
        assert near.exists[p]
        torch.testing.assert_close(near.distance[p], expected)
    assert near.exists.sum() == len(naive_pairs(y))
