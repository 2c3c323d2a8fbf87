"""Modes under easy positives: the block sums against the full risks, and the bounds against searches."""

import itertools

import numpy as np
import pytest

from papers import free_points
from papers.eps.theory import collapse, expected_risk, modes

pytestmark = pytest.mark.slow

ALPHA = 0.2


def scene(n, groups, mode, rest, foreign):
    """Distances of classes split into modes, and the order among equal ones: own mode, rest of the group, others."""
    group, part = collapse.groups_of(n, groups), np.arange(n) // mode
    own, inside = np.equal.outer(group, group), np.equal.outer(part, part)
    return np.where(inside, 0.0, np.where(own, rest, foreign)), np.where(inside, 0.0, np.where(own, 1.0, 2.0))


@pytest.mark.parametrize(
    ("n", "groups", "mode"), [(8, 2, 4), (8, 2, 2), (12, 2, 1), (12, 3, 2), (12, 3, 4), (24, 3, 4)]
)
@pytest.mark.parametrize(("rest", "foreign"), [(0.0, 0.2), (0.1, 0.3), (0.2, 0.2), (0.5, 1.0)])
def test_an_anchors_risk_is_its_share_of_the_whole(n, groups, mode, rest, foreign):
    labels = collapse.label_probabilities(n, groups, 0.7)
    distances, order = scene(n, groups, mode, rest, foreign)
    weights = modes.blocks(n, groups, 0.7, mode)
    triplet = expected_risk.triplet(distances, labels, ALPHA, True, order) * (n - 2)
    assert modes.triplet(weights, ALPHA, rest, foreign) == pytest.approx(triplet)
    margin = expected_risk.margin(distances, labels, ALPHA, 0.3, True, order) * (n - 1)
    assert modes.margin(weights, ALPHA, 0.3, rest, foreign) == pytest.approx(margin)


@pytest.mark.parametrize("p", [0.55, 0.7, 0.9])
@pytest.mark.parametrize("loss", ["triplet", "margin"])
def test_no_embedding_with_a_collapsed_class_is_below_the_bound(p, loss):
    generator = np.random.default_rng(0)
    n, labels = 12, collapse.label_probabilities(12, 2, p)
    bound = modes.collapsed_at_least(n, 2, p, ALPHA, loss)
    for trial in range(150):
        points = generator.normal(size=(n, 3)) * generator.uniform(0, 0.5)
        if trial % 3 == 0:
            points[:] = 0
        points[: n // 2] = points[0]
        distances = free_points.squared(points)
        order = generator.random((n, n))
        if loss == "triplet":
            risk = expected_risk.triplet(distances, labels, ALPHA, True, order) * n * (n - 2)
        else:
            betas = np.linspace(-0.2, 1.5, 18)
            risk = min(expected_risk.margin(distances, labels, ALPHA, b, True, order) for b in betas) * n * (n - 1)
        assert risk >= bound - 1e-12


@pytest.mark.parametrize("p", [0.55, 0.75, 0.95])
def test_no_order_of_the_neighbours_has_a_lower_margin_risk(p):
    """Whatever D and beta, a neighbour costs at least 2 alpha min(P, N): the least sum over all orders."""
    n = 10
    labels = collapse.label_probabilities(n, 2, p)
    sums = []
    for own in itertools.combinations(range(n - 1), n // 2 - 1):
        others = np.full(n - 1, -1)
        others[list(own)] = np.arange(1, n // 2)
        others[others < 0] = np.arange(n // 2, n)
        positive = expected_risk.positive_weights(labels, 0, others, easy=True).sum(axis=1)
        sums.append(2 * ALPHA * np.minimum(positive, 1 - labels[others] @ labels[0]).sum())
    assert min(sums) == pytest.approx(modes.least_margin(n, 2, p, ALPHA))
    assert modes.best_margin(modes.blocks(n, 2, p, 1), ALPHA) >= min(sums)
