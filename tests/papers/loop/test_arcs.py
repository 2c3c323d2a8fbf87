"""LoOp's arcs and segments: searches, gains, printed formulas, gradients and its proposition 1."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from dml.losses import geodesic
from papers.loop.theory import box_search, class_membership, loop_toy, pair_steps, random_arcs, segments
from papers.loop.theory import cases as arc_cases
from papers.loop.theory import gain as arc_gain
from papers.loop.theory import printed_formulas as arc_printed
from papers.loop.theory import search as arc_search
from papers.loop.theory.random_arcs import Arcs

SIDES = np.full(3, 2.0)


def test_a_bowl_inside_at_an_edge_and_in_a_corner():
    centre = np.array([[0.7, 1.3], [-1.0, 0.4], [3.0, 5.0]])

    def bowl(s, t):
        return (s - centre[:, :1]) ** 2 + 2 * (t - centre[:, 1:]) ** 2

    expected = [0, 1, 1 + 2 * 9]
    np.testing.assert_allclose(box_search.minimum(bowl, SIDES, SIDES), expected, atol=1e-12)


def check(arcs, tolerance=1e-8):
    found = arc_search.compare(arcs)
    assert found.above < tolerance
    assert found.below < tolerance
    assert found.attained < tolerance
    return found


@pytest.mark.parametrize("size", [2, 3, 8, 64, 512])
def test_random_arcs(size):
    found = check(random_arcs.uniform(np.random.default_rng(size), 500, size), 1e-10)
    assert (found.hits > 0).all()
    assert found.hits.sum() == found.pairs == 500


@pytest.mark.parametrize("size", [2, 3, 16])
def test_the_same_as_the_losses(size):
    arcs = random_arcs.uniform(np.random.default_rng(2), 60, size)
    ours = arc_cases.least(arc_cases.box_of(arcs))
    theirs = geodesic.arcs(*map(torch.from_numpy, arcs))
    np.testing.assert_allclose(ours.distance, theirs.distance.diagonal().numpy(), atol=1e-7)
    if size > 2:  # in the plane overlapping arcs touch at many points, which are of several cases
        np.testing.assert_array_equal(ours.case, theirs.case.diagonal().numpy())


def test_gain_is_that_of_the_losses():
    arcs = random_arcs.uniform(np.random.default_rng(1), 200, 4)
    ends = [torch.from_numpy(end) for end in arcs]
    corners = torch.stack([(x - y).norm(dim=1) for x in ends[:2] for y in ends[2:]]).amin(0)
    found = geodesic.arcs(*ends)
    gains = corners - found.distance.diagonal()
    ours = arc_gain.gain(arcs)
    assert ours.mean == pytest.approx(gains.mean().item(), abs=1e-7)
    assert ours.interior == pytest.approx((found.case.diagonal() == 0).double().mean().item())
    assert ours.corners == pytest.approx((found.case.diagonal() >= 5).double().mean().item())


def test_the_flat_counterexample_by_scipy():
    first, second = multivariate_normal([0, 0], np.diag([9, 1])), multivariate_normal([0, 2], np.diag([1, 9]))
    example = class_membership.flat_counterexample()
    assert sorted(np.linalg.eigvalsh(np.diag([9, 1]))) == sorted(np.linalg.eigvalsh(np.diag([1, 9])))
    for point in (example.start, example.end):
        assert first.logpdf(point) > second.logpdf(point)
    assert first.logpdf(example.middle) < second.logpdf(example.middle)
    np.testing.assert_allclose((example.start + example.end) / 2, example.middle)
    expected = [first.logpdf(p) - second.logpdf(p) for p in (example.start, example.end, example.middle)]
    np.testing.assert_allclose(example.log_ratios(), expected, atol=1e-12)


@pytest.mark.parametrize("make", [class_membership.sphere_counterexample, class_membership.cap_counterexample])
def test_the_counterexamples_on_the_sphere(make):
    example = make()
    for point in (example.start, example.end, example.middle):
        assert np.linalg.norm(point) == pytest.approx(1)
    start, end, middle = example.log_ratios()
    assert start > 0.3
    assert end > 0.3
    assert middle < -0.3
    assert class_membership.leaves(example.first, example.second, example.start[None], example.end[None], True)[0]


def arcs_apart(seed, n, size, spread=None):
    rng = np.random.default_rng(seed)
    arcs = random_arcs.uniform(rng, n, size) if spread is None else random_arcs.of_classes(rng, n, size, spread)
    keep = arc_cases.least(arc_cases.box_of(arcs)).distance > 0.01
    return Arcs(*(end[keep] for end in arcs))


def along(gradient, end):
    """Without the part along the end: gradients off the sphere may differ."""
    return gradient - (gradient * end).sum(1, keepdims=True) * end


@pytest.mark.parametrize("form", ["plain", "squared"])
@pytest.mark.parametrize("size", [3, 12])
def test_gradients_at_the_closest_points_are_those_of_the_implementation(form, size):
    arcs = arcs_apart(0, 40, size)
    leaves = [torch.from_numpy(end).requires_grad_() for end in arcs]
    negative = geodesic.arcs(*leaves).distance.diagonal()
    positive = (leaves[0] - leaves[1]).norm(dim=1)
    value = positive - negative if form == "plain" else positive.square() - negative.square()
    theirs = torch.autograd.grad(value.sum(), leaves)
    ours = pair_steps.gradients(arcs, pair_steps.closest(arcs), form)
    for one, other, end in zip(ours, theirs, arcs, strict=True):
        np.testing.assert_allclose(along(one, end), along(other.numpy(), end), atol=1e-6)


@pytest.mark.parametrize("case", range(9))
def test_gradients_of_each_choice_against_autograd(case):
    arcs = arcs_apart(1, 30, 4)
    points = pair_steps.choice(case, len(arcs.x1))
    leaves = [torch.from_numpy(end).requires_grad_() for end in arcs]
    u1, u2, w1, w2 = (torch.from_numpy(weight)[:, None] for weight in points)
    p1 = torch.nn.functional.normalize(u1 * leaves[0] + u2 * leaves[1], dim=1)
    p2 = torch.nn.functional.normalize(w1 * leaves[2] + w2 * leaves[3], dim=1)
    value = (leaves[0] - leaves[1]).norm(dim=1) - (p1 - p2).norm(dim=1)
    np.testing.assert_allclose(pair_steps.distance(arcs, points), (p1 - p2).norm(dim=1).detach().numpy(), atol=1e-12)
    theirs = torch.autograd.grad(value.sum(), leaves)
    for one, other, end in zip(pair_steps.gradients(arcs, points, "plain"), theirs, arcs, strict=True):
        np.testing.assert_allclose(along(one, end), along(other.numpy(), end), atol=1e-9)


@pytest.mark.parametrize("form", ["plain", "squared"])
@pytest.mark.parametrize("spread", [None, 0.6])
@pytest.mark.parametrize("size", [3, 20, 512])
def test_closest_points_always_meet_the_criteria_to_first_order(form, spread, size):
    arcs = arcs_apart(size, 2000, size, spread)
    assert pair_steps.rates(arcs, pair_steps.closest(arcs), form).good.all()


def test_equal_signs_are_critical_and_printed_ones_never():
    found = arc_printed.critical(arc_printed.box_of_coefficients(np.random.default_rng(1), 5000))
    for pair, residual in found.residual.items():
        if pair[0] == pair[1]:
            assert residual.max() < 1e-10
        else:
            assert residual.min() > 0.5
    assert found.supplement.min() > 1e-7  # the A of one line of the supplement gives no critical point
    assert np.median(found.supplement) > 0.1


@pytest.mark.parametrize("size", [1, 2, 3, 16])
def test_random_segments(size):
    ends = segments.random(np.random.default_rng(size), 500, size)
    distance, case = segments.nine_cases(ends)
    np.testing.assert_allclose(distance**2, segments.searched(ends) ** 2, atol=1e-10)
    if size == 3:
        assert (np.bincount(case, minlength=9) > 0).all()


def test_the_same_as_the_losses_of_segments():
    ends = segments.random(np.random.default_rng(3), 50, 5)
    theirs = geodesic.segments(*map(torch.from_numpy, ends))
    distance, case = segments.nine_cases(ends)
    np.testing.assert_allclose(distance, theirs.distance.diagonal().numpy(), atol=1e-7)
    np.testing.assert_array_equal(case, theirs.case.diagonal().numpy())


def unit(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(*shape, generator=g, dtype=torch.float64), dim=-1)


def test_loop_is_the_least_and_one_end_the_largest():
    x1, x2 = unit(2, 6, 3), unit(2, 6, 3, seed=1)
    one, four, loop = (loop_toy.DISTANCES[arm](x1, x2) for arm in ("one end", "four ends", "LoOp"))
    assert (loop <= four + 1e-5).all()
    assert (four <= one + 1e-5).all()
    by_hand = min((a - b).norm() for a in (x1[0, 2], x2[0, 2]) for b in (x1[0, 4], x2[0, 4]))
    assert four[0, 2, 4].item() == pytest.approx(by_hand.item(), abs=1e-6)
