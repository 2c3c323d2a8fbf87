"""LoOp's gradients and what a step along them does, against autograd, differences and finite steps."""

import numpy as np
import pytest
import torch

from dml.losses import geodesic
from papers.loop.theory import cases as arc_cases
from papers.loop.theory import pair_steps, random_arcs
from papers.loop.theory.random_arcs import Arcs


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
@pytest.mark.parametrize("case", [0, 1, 5, 8, "closest"])
def test_rates_are_those_of_a_small_step(form, case):
    arcs = arcs_apart(3, 60, 5)
    points = pair_steps.closest(arcs) if case == "closest" else pair_steps.choice(case, len(arcs.x1))
    size = 1e-6
    after = pair_steps.step(arcs, points, form, size)
    rates = pair_steps.rates(arcs, points, form)
    lengths = [(np.linalg.norm(a.x1 - a.x2, axis=1), np.linalg.norm(a.y1 - a.y2, axis=1)) for a in (arcs, after)]
    least = [arc_cases.least(arc_cases.box_of(a)).distance for a in (arcs, after)]
    found = [(lengths[1][k] - lengths[0][k]) / size for k in (0, 1)] + [(least[1] - least[0]) / size]
    for rate, difference in zip(rates, found, strict=True):
        np.testing.assert_allclose(rate, difference, atol=1e-3)


@pytest.mark.parametrize("form", ["plain", "squared"])
@pytest.mark.parametrize("spread", [None, 0.6])
@pytest.mark.parametrize("size", [3, 20, 512])
def test_closest_points_always_meet_the_criteria_to_first_order(form, spread, size):
    arcs = arcs_apart(size, 2000, size, spread)
    assert pair_steps.rates(arcs, pair_steps.closest(arcs), form).good.all()
