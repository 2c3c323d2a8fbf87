"""Theorems 1 and 2: the sums against enumeration, the least risk against descents, and other minimisers."""

import itertools

import numpy as np
import pytest

from papers import free_points
from papers.eps.theory import collapse, expected_risk, minimisers

ALPHA = 0.2


def random_scene(n, groups, seed=0):
    generator = np.random.default_rng(seed)
    distances = np.sqrt(free_points.squared(generator.normal(size=(n, 2))))
    return distances, generator.dirichlet(np.ones(groups), size=n)


def enumerated(distances, probabilities, beta, repeated):
    """Expectation over all labellings; `repeated`: indices may be equal."""
    n, groups = probabilities.shape
    total = 0.0
    for labels in itertools.product(range(groups), repeat=n):
        chance = np.prod([probabilities[i, r] for i, r in enumerate(labels)])
        for i, j in itertools.product(range(n), repeat=2):
            if i == j and not repeated:
                continue
            same = labels[i] == labels[j]
            if beta is not None:
                gap = distances[i, j] - beta if same else beta - distances[i, j]
                total += chance * max(gap + ALPHA, 0) / n**2
            elif same:
                others = [k for k in range(n) if labels[k] != labels[i]]
                total += chance * sum(max(distances[i, j] - distances[i, k] + ALPHA, 0) for k in others) / n**3
    return total


@pytest.mark.parametrize("beta", [None, 0.7])
@pytest.mark.parametrize("count", ["distinct", "all"])
def test_sums_are_expectations_over_labellings(count, beta):
    distances, probabilities = random_scene(5, 3)
    expected = enumerated(distances, probabilities, beta, count == "all")
    if beta is None:
        assert minimisers.triplet(distances, probabilities, ALPHA, count) == pytest.approx(expected)
    else:
        assert minimisers.margin(distances, probabilities, ALPHA, beta, count) == pytest.approx(expected)


def test_distinct_is_the_other_rooms_risk():
    distances, probabilities = random_scene(6, 3)
    assert minimisers.triplet(distances, probabilities, ALPHA) * 216 == pytest.approx(
        expected_risk.triplet(distances, probabilities, ALPHA) * 6 * 5 * 4
    )
    assert minimisers.margin(distances, probabilities, ALPHA, 1.2) * 36 == pytest.approx(
        expected_risk.margin(distances, probabilities, ALPHA, 1.2) * 30
    )


@pytest.mark.parametrize(("n", "groups"), [(8, 2), (12, 3), (20, 10)])
@pytest.mark.parametrize("p", [0.55, 0.7, 0.95])
class TestSimplexes:
    """Collapse has the least risk over distinct samples, and is not the only one."""

    def test_triplet(self, n, groups, p):
        labels, group = collapse.label_probabilities(n, groups, p), collapse.groups_of(n, groups)
        least = minimisers.least_triplet(labels, ALPHA)
        risks = {w: minimisers.triplet(minimisers.simplex(group, w, w + ALPHA), labels, ALPHA) for w in (0, 0.1, 3)}
        assert list(risks.values()) == pytest.approx([least] * 3, abs=1e-13)
        assert minimisers.triplet(minimisers.simplex(group, 0.1, 0.1 + 0.9 * ALPHA), labels, ALPHA) > least + 1e-6
        assert minimisers.triplet(minimisers.simplex(group, 0.1, 0.1 + 1.1 * ALPHA), labels, ALPHA) > least + 1e-6

    def test_counting_a_sample_as_its_own_positive(self, n, groups, p):
        """Exactly: it pushes a class apart. As the proof: it pulls it together."""
        labels, group = collapse.label_probabilities(n, groups, p), collapse.groups_of(n, groups)

        def risk(w, count):
            return minimisers.triplet(minimisers.simplex(group, w, w + ALPHA), labels, ALPHA, count)

        assert risk(ALPHA, "all") < risk(ALPHA / 2, "all") < risk(0, "all")
        assert risk(2 * ALPHA, "all") == pytest.approx(risk(ALPHA, "all"))
        assert risk(0, "proof") < risk(ALPHA / 2, "proof") < risk(ALPHA, "proof")

    def test_margin(self, n, groups, p):
        labels, group = collapse.label_probabilities(n, groups, p), collapse.groups_of(n, groups)
        least = minimisers.least_margin(labels, ALPHA)
        holds = minimisers.agreement(p, groups) >= 0.5 - 1e-12
        for w in (0, 0.1, 3):
            distances = minimisers.simplex(group, w, w + 2 * ALPHA)
            risk = minimisers.margin(distances, labels, ALPHA, w + ALPHA)
            assert (risk == pytest.approx(least, abs=1e-13)) == holds
            # A sample is its own positive at D = 0, which costs nothing while beta >= alpha.
            assert minimisers.margin(distances, labels, ALPHA, w + ALPHA, "all") == pytest.approx(risk)
        far = minimisers.simplex(group, 2 * ALPHA, 2 * ALPHA)
        if not holds:  # all samples far apart are a minimiser
            assert minimisers.margin(far, labels, ALPHA, ALPHA) == pytest.approx(least)
