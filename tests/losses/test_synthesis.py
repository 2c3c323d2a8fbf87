"""Pairs and hardest distances against loops over samples, with the closest points found by scipy."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import pytest
import torch
from scipy.optimize import minimize
from torch._subclasses.fake_tensor import FakeTensorMode

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


def test_order_of_hardness():
    """Geodesics hold their ends and interpolated points: LoOp is the hardest, the samples themselves the least hard."""
    x, y = batch(6, sizes=(6,) * 6, dimensions=3)
    loop, few, many, ends = (
        synthesis.nearest(x, y, kind, points).distance
        for kind, points in (("loop", 2), ("embedding_expansion", 2), ("embedding_expansion", 200), ("none", 2))
    )
    assert (loop <= many + 1e-9).all()
    assert (many <= few + 1e-9).all()
    assert (few <= ends + 1e-9).all()
    assert (loop < ends - 1e-3).any()
    torch.testing.assert_close(loop, many, atol=5e-3, rtol=0)


def degenerate_batches():
    g = torch.Generator().manual_seed(7)
    x = torch.nn.functional.normalize(torch.randn(8, 4, generator=g), dim=1)
    y = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    yield "one class", x, torch.zeros(8, dtype=torch.int64)
    yield "classes of one", x, torch.arange(8)
    yield "one pair and the rest alone", x, torch.tensor([0, 0, 1, 2, 3, 4, 5, 6])
    yield "one sample", x[:1], y[:1]
    yield "nothing", x[:0], y[:0]
    yield "duplicates everywhere", x[:1].expand(8, 4), y
    yield "duplicates within classes", x[y], y
    yield "opposite within classes", torch.where(torch.arange(8)[:, None] % 2 == 0, x, -x.roll(1, 0)), y
    yield "zeros", x * 0, y
    yield "zeros within a class", x * (y != 1)[:, None], y


@pytest.mark.parametrize("kind", synthesis.SYNTHESES)
@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize(("x", "y"), [pytest.param(x, y, id=name) for name, x, y in degenerate_batches()])
def test_degenerate_batches_are_finite(kind, points, x, y):
    for normalize in (True, False):
        leaf = x.clone().requires_grad_()
        near = synthesis.nearest(leaf, y, kind, points, normalize)
        assert near.distance.isfinite().all()
        assert near.distance.shape == near.exists.shape == (len(y) // 2,)
        (near.distance * near.exists + near.positive).sum().backward()
        assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("kind", synthesis.SYNTHESES)
def test_nothing_waits_for_the_device(kind):
    """Shapes follow from N alone: it runs on tensors that have no values."""
    with FakeTensorMode():
        near = synthesis.nearest(torch.zeros(9, 4), torch.zeros(9, dtype=torch.int64), kind)
    assert near.distance.shape == (4,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("kind", CHOICES)
def test_compiled_it_gives_the_same(kind):
    x, y = batch(8, sizes=(4, 3, 6))
    torch._dynamo.reset()
    results = []
    for function in (synthesis.nearest, torch.compile(synthesis.nearest, backend="aot_eager")):
        leaf = x.clone().requires_grad_()
        near = function(leaf, y, kind)
        near.distance.sum().backward()
        results.append((near.distance.detach(), leaf.grad))
    torch.testing.assert_close(*results)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", synthesis.SYNTHESES)
def test_cuda_gives_the_same_and_does_not_wait(kind, without_waiting):
    x, y = batch(8, sizes=(8,) * 8, dimensions=16)
    results = []
    for device in ("cpu", "cuda"):
        leaf, labels = x.float().to(device).requires_grad_(), y.to(device)
        synthesis.nearest(leaf, labels, kind).distance.sum().backward()  # warm: the first call allocates
        leaf.grad = None
        with without_waiting() if device == "cuda" else nullcontext():
            near = synthesis.nearest(leaf, labels, kind)
            near.distance.sum().backward()
        results.append((near.distance.detach().cpu(), leaf.grad.cpu()))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
