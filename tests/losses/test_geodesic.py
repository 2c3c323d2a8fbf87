"""Arcs and segments against a minimisation by grid and zoom, with frames in extended precision."""

import math

import numpy as np
import pytest
import torch

from dml.losses import geodesic


def tangent(start, end):
    """Gram-Schmidt in long double: the unit tangents (P, D) and the angles (P,)."""
    start, end = (z.astype(np.longdouble) for z in (start, end))
    start, end = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (start, end))
    angle = 2 * np.arctan2(np.linalg.norm(end - start, axis=1), np.linalg.norm(end + start, axis=1))
    rest = end - (start * end).sum(1, keepdims=True) * start
    rest = rest - (start * rest).sum(1, keepdims=True) * start
    length = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.where(length > 0, rest / np.where(length > 0, length, 1), 0), angle


def least(value, rounds=14, kept=6):
    """The least of `value(s)`, (C,), over s in [0, 1]: the best local minima of a grid, each zoomed into."""
    grid = np.linspace(0, 1, 513)
    table = value(grid[None, :])
    padded = np.pad(table, ((0, 0), (1, 1)), constant_values=np.inf)
    minima = np.where((table <= padded[:, :-2]) & (table <= padded[:, 2:]), table, np.inf)
    best = table.min(1)
    for place in np.argpartition(minima, kept, axis=1)[:, :kept].T:
        s, reach = grid[place][:, None], 1 / 512
        for _ in range(rounds):
            tried = np.clip(s + np.linspace(-reach, reach, 9), 0, 1)
            here = value(tried)
            best = np.minimum(best, here.min(1))
            s, reach = np.take_along_axis(tried, here.argmin(1)[:, None], 1), reach / 4
    return best


def numerical_arcs(x1, x2, y1, y2):
    """(P, D) x2, (Q, D) x2 -> the least distances (P, Q), float64."""
    (n2, alpha0), (n4, beta0) = tangent(x1, x2), tangent(y1, y2)
    n11, n12, n21, n22 = (
        (u.astype(np.longdouble) @ v.astype(np.longdouble).T).astype(float).reshape(-1, 1)
        for u, v in ((x1, y1), (x1, n4), (n2, y1), (n2, n4))
    )
    p, q = len(x1), len(y1)
    a0 = np.repeat(alpha0.astype(float), q)[:, None]
    b0 = np.tile(beta0.astype(float), p)[:, None]

    def value(s):
        along = np.cos(s * a0) * n11 + np.sin(s * a0) * n21
        across = np.cos(s * a0) * n12 + np.sin(s * a0) * n22
        b = np.arctan2(across, along)
        inside = np.where((b >= 0) & (b <= b0), np.hypot(along, across), -1)
        return -np.maximum(inside, np.maximum(along, along * np.cos(b0) + across * np.sin(b0)))

    return np.sqrt(np.clip(2 + 2 * least(value), 0, None)).reshape(p, q)


def numerical_segments(x1, x2, y1, y2):
    p, q = len(x1), len(y1)
    left, right = np.repeat(np.arange(p), q), np.tile(np.arange(q), p)
    w, u, v = (x1[left] - y1[right]), (x2 - x1)[left], (y2 - y1)[right]
    ww, uu, vv, wu, wv, uv = ((i * j).sum(1)[:, None] for i, j in ((w, w), (u, u), (v, v), (w, u), (w, v), (u, v)))

    def value(s):
        t = np.clip((wv + s * uv) / np.where(vv > 0, vv, 1), 0, 1)
        return ww + s * s * uu + t * t * vv + 2 * s * wu - 2 * t * wv - 2 * s * t * uv

    return np.sqrt(np.clip(least(value), 0, None)).reshape(p, q)


def rows(seed, count, size, unit=True):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, size, generator=g, dtype=torch.float64)
    return torch.nn.functional.normalize(x, dim=1) if unit else x


def quadruple(seed, count, size, spread=None, unit=True):
    """x1, x2, y1, y2, each (count, size); `spread`: the ends of an arc are that near to each other."""
    x1, x2, y1, y2 = (rows(4 * seed + k, count, size, unit) for k in range(4))
    if spread is not None:
        x2, y2 = x1 + spread * x2, y1 + spread * y2
    return [torch.nn.functional.normalize(z, dim=1) if unit else z for z in (x1, x2, y1, y2)]


def check_arcs(ends, tolerance=1e-6):
    found = geodesic.arcs(*ends)
    expected = numerical_arcs(*(z.numpy() for z in ends))
    assert np.abs(found.distance.numpy() - expected).max() < tolerance
    check_place(found, ends)
    return found


def check_place(found, ends):
    """The angles lie within the box, at the ends that the case names, and lead to the distance."""
    (n2, alpha0), (n4, beta0) = (tangent(ends[0].numpy(), ends[1].numpy()), tangent(ends[2].numpy(), ends[3].numpy()))
    a, b, case = found.first.numpy(), found.second.numpy(), found.case.numpy()
    a0, b0 = np.broadcast_arrays(alpha0[:, None].astype(float), beta0[None, :].astype(float))
    for angle, full, start, end in ((a, a0, (1, 5, 6), (2, 7, 8)), (b, b0, (3, 5, 7), (4, 6, 8))):
        assert (angle[np.isin(case, start)] == 0).all()
        np.testing.assert_allclose(angle[np.isin(case, end)], full[np.isin(case, end)], rtol=1e-9)
        within = ~np.isin(case, start + end)
        assert ((angle > 0) & (angle <= full + 1e-12))[within].all()
    n2, n4 = n2.astype(float), n4.astype(float)
    p1 = np.cos(a)[..., None] * ends[0].numpy()[:, None] + np.sin(a)[..., None] * n2[:, None]
    p2 = np.cos(b)[..., None] * ends[2].numpy()[None] + np.sin(b)[..., None] * n4[None]
    np.testing.assert_allclose(np.linalg.norm(p1 - p2, axis=2), found.distance.numpy(), atol=2e-7)


@pytest.mark.parametrize("size", [2, 3, 4, 8, 32, 128, 512])
def test_random_arcs(size):
    found = check_arcs(quadruple(size, 24, size))
    assert (torch.bincount(found.case.flatten(), minlength=9) > 0).all()


@pytest.mark.parametrize("exponent", [-1, -2, -3, -4, -5, -6, -7, -8, -10])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_nearly_equal_ends(size, exponent):
    check_arcs(quadruple(1, 12, size, spread=10.0**exponent))


@pytest.mark.parametrize("exponent", [-1, -2, -3, -4, -5, -6, -7])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_nearly_opposite_ends(size, exponent):
    x1, x2, y1, y2 = quadruple(2, 12, size)
    across = torch.from_numpy(tangent(x1.numpy(), x2.numpy())[0].astype(float))
    check_arcs([x1, torch.nn.functional.normalize(-x1 + 10.0**exponent * across, dim=1), y1, y2])


def test_equal_ends_are_a_point():
    x1, _, y1, y2 = quadruple(3, 12, 5)
    found = check_arcs([x1, x1, y1, y2])
    assert (found.first == 0).all()
    both = check_arcs([x1, x1, y1, y1])
    torch.testing.assert_close(both.distance, torch.cdist(x1, y1))


def plane(angles, size=6, start=0):
    """Points of a coordinate plane's great circle."""
    angles = torch.as_tensor(angles, dtype=torch.float64)
    points = torch.zeros(len(angles), size, dtype=torch.float64)
    points[:, start], points[:, start + 1] = angles.cos(), angles.sin()
    return points


def test_one_great_circle():
    """Overlapping, nested, touching, disjoint: all optima are ties or ends."""
    first, second = plane([0.0, 0.3, 0.0, 0.0]), plane([1.0, 0.6, 0.5, 1.0])
    third, fourth = plane([0.5, 0.0, 0.5, 2.0]), plane([2.0, 1.0, 0.9, 2.5])
    found = check_arcs([first, second, third, fourth])
    expected = torch.tensor([0.0, 0.0, 0.0, 2 * math.sin(0.5)], dtype=torch.float64)
    torch.testing.assert_close(found.distance.diagonal(), expected, atol=1e-7, rtol=0)


def test_the_paper_divides_by_zero_here():
    """ab + cd = ac + bd = 0 with an interior optimum: the arcs cross at right angles, each in its middle."""
    x = torch.tensor([[math.cos(0.3), math.sin(s * 0.3), 0.0] for s in (-1, 1)], dtype=torch.float64)
    y = torch.tensor([[math.cos(0.4), 0.0, math.sin(s * 0.4)] for s in (-1, 1)], dtype=torch.float64)
    found = check_arcs([x[:1], x[1:], y[:1], y[1:]])
    assert found.case.item() == 0
    assert found.distance.item() < 1e-7
    assert found.first.item() == pytest.approx(0.3)


@pytest.mark.parametrize(("size", "unit"), [(2, True), (3, True), (5, True), (40, True), (3, False), (5, False)])
def test_gradient_is_that_of_the_minimised_distance(size, unit):
    """Central differences of the numerical minimum, through the normalisation, in random directions."""
    raw = [rows(50 + k, 10, size, unit=False) for k in range(4)]
    ways = [rows(60 + k, 10, size, unit=False) for k in range(4)]
    prepare = (lambda z: torch.nn.functional.normalize(z, dim=1)) if unit else (lambda z: z)
    exact, numerical = (geodesic.arcs, numerical_arcs) if unit else (geodesic.segments, numerical_segments)
    step = 1e-5
    ahead, behind = ([prepare(z + s * step * w) for z, w in zip(raw, ways, strict=True)] for s in (1, -1))
    slope = (numerical(*(z.numpy() for z in ahead)) - numerical(*(z.numpy() for z in behind))) / (2 * step)
    leaves = [z.clone().requires_grad_() for z in raw]
    found = exact(*map(prepare, leaves))
    smooth = (found.distance > 1e-2) & (exact(*ahead).case == exact(*behind).case)
    assert smooth.sum() >= 20
    for i, j in smooth.nonzero().tolist():
        gradients = torch.autograd.grad(found.distance[i, j], leaves, retain_graph=True)
        ours = sum((g * w).sum() for g, w in zip(gradients, ways, strict=True)).item()
        assert ours == pytest.approx(slope[i, j], abs=1e-6, rel=1e-5)


def degenerates(dtype):
    """Ends that are equal, opposite, nearly so, zero; arcs that are equal, touch, lie on one circle."""
    x = rows(7, 3, 4)
    tilt = torch.nn.functional.normalize(-x + 1e-5 * rows(8, 3, 4), dim=1)
    zero = torch.zeros_like(x)
    ends = [(x, x), (x, -x), (x, tilt), (x, x.roll(1, 0)), (zero, x), (zero, zero), (x, x + 1e-9)]
    return torch.cat([a for a, _ in ends]).to(dtype), torch.cat([b for _, b in ends]).to(dtype)


@pytest.mark.parametrize("function", [geodesic.arcs, geodesic.segments])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_degenerate_arcs_are_finite(function, dtype):
    starts, ends = (z.requires_grad_() for z in degenerates(dtype))
    found = function(starts, ends, starts, ends)
    assert found.distance.dtype == dtype
    assert found.distance.isfinite().all()
    assert found.case.min() >= 0
    assert found.case.max() <= 8
    found.distance.sum().backward()
    assert starts.grad.isfinite().all()
    assert ends.grad.isfinite().all()


def test_gradient_at_distance_zero_is_zero():
    x1, x2, y1, _ = (z.requires_grad_() for z in quadruple(9, 5, 4))
    geodesic.arcs(x1, x2, x1, y1).distance.diagonal().sum().backward()
    for z in (x1, x2, y1):
        assert z.grad.abs().max() < 1e-6
