"""Expected risk: against the enumeration of all labellings and simulation; then the paper's theorems and claims."""

import itertools

import numpy as np
import pytest

from papers.eps.theory import collapse, expected_risk

pytestmark = pytest.mark.slow

ALPHA = 0.2


def random_scene(n, groups, p, seed):
    """Distances of random points, and random label probabilities around p."""
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(n, 3))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    probabilities = collapse.label_probabilities(n, groups, p) + generator.uniform(0, 0.1, size=(n, groups))
    return distances, probabilities / probabilities.sum(axis=1, keepdims=True)


def enumerated(distances, probabilities, easy, beta=None):
    """The definition, in loops over every labelling."""
    n, groups = probabilities.shape
    total = 0.0
    for labels in itertools.product(range(groups), repeat=n):
        chance = np.prod([probabilities[i, r] for i, r in enumerate(labels)])
        risk = 0.0
        for i in range(n):
            same = [j for j in range(n) if j != i and labels[j] == labels[i]]
            other = [k for k in range(n) if labels[k] != labels[i]]
            if easy and same:
                same = [min(same, key=lambda j: distances[i, j])]
            if beta is None:
                risk += sum(max(distances[i, j] - distances[i, k] + ALPHA, 0) for j in same for k in other)
            else:
                risk += sum(max(distances[i, j] - beta + ALPHA, 0) for j in same)
                risk += sum(max(beta - distances[i, k] + ALPHA, 0) for k in other)
        total += chance * risk
    if beta is not None:
        return total / (n * (n - 1))
    return total / (n * (n - 2) * (1 if easy else n - 1))


@pytest.mark.parametrize("easy", [False, True])
@pytest.mark.parametrize(("n", "groups"), [(4, 2), (8, 2), (6, 3)])
def test_exact_is_the_enumeration(n, groups, easy):
    distances, probabilities = random_scene(n, groups, 0.7, n)
    triplet = expected_risk.triplet(distances, probabilities, ALPHA, easy)
    assert triplet == pytest.approx(enumerated(distances, probabilities, easy), rel=1e-10)
    margin = expected_risk.margin(distances, probabilities, ALPHA, 1.2, easy)
    assert margin == pytest.approx(enumerated(distances, probabilities, easy, 1.2), rel=1e-10)


@pytest.mark.parametrize("easy", [False, True])
@pytest.mark.parametrize("beta", [None, ALPHA])
@pytest.mark.parametrize("scene_of", [collapse.collapsed, collapse.two_modes])
def test_simulation_agrees_for_more_samples(easy, beta, scene_of):
    n, groups = 24, 3
    scene, labels = scene_of(n, groups, 0.3), collapse.label_probabilities(n, groups, 0.8)
    mean, error = expected_risk.simulate(scene.distances, labels, ALPHA, beta, easy, scene.order, draws=2000)
    if beta is None:
        exact = expected_risk.triplet(scene.distances, labels, ALPHA, easy, scene.order)
    else:
        exact = expected_risk.margin(scene.distances, labels, ALPHA, beta, easy, scene.order)
    assert abs(mean - exact) < 4 * error
    assert error < 0.05 * exact


class TestTheorem1:
    """Triplet, all positives: the collapsed embedding, groups alpha apart, has the least expected risk."""

    @pytest.mark.parametrize("groups", [2, 3])
    @pytest.mark.parametrize("p", [0.55, 0.7, 0.95])
    def test_no_embedding_has_less(self, groups, p):
        n = 12
        labels = collapse.label_probabilities(n, groups, p)
        best = collapse.collapsed(n, groups, ALPHA)
        least = expected_risk.triplet(best.distances, labels, ALPHA)
        generator = np.random.default_rng(0)
        for trial in range(200):
            points = generator.normal(size=(n, generator.integers(1, 6))) * generator.uniform(0.01, 1)
            points[:, 0] += collapse.groups_of(n, groups) * generator.uniform(0, 1)
            distances = np.linalg.norm(points[:, None] - points[None], axis=2)
            if trial % 2:  # near the collapsed one
                distances = best.distances + generator.uniform(0, 0.05) * distances
            assert expected_risk.triplet(distances, labels, ALPHA) >= least - 1e-12


class TestTheorem2:
    """Margin, all positives: the collapsed embedding, groups 2 alpha apart, beta = alpha, has the least risk."""

    @pytest.mark.parametrize(("groups", "p"), [(2, 0.55), (2, 0.9), (3, 0.75), (3, 0.95)])
    def test_no_embedding_and_no_beta_has_less(self, groups, p):
        n = 12
        labels = collapse.label_probabilities(n, groups, p)
        best = collapse.collapsed(n, groups, 2 * ALPHA)
        least = expected_risk.margin(best.distances, labels, ALPHA, ALPHA)
        same = labels @ labels.T
        off = ~np.eye(n, dtype=bool)
        # The minimum over each pair's distance, whatever beta: 2 alpha times the rarer of the two kinds.
        assert least == pytest.approx(2 * ALPHA * np.minimum(same, 1 - same)[off].mean())
        generator = np.random.default_rng(0)
        for beta in generator.uniform(0, 1, size=200):
            points = generator.normal(size=(n, 4)) * generator.uniform(0.01, 1)
            distances = np.linalg.norm(points[:, None] - points[None], axis=2)
            assert expected_risk.margin(distances, labels, ALPHA, beta) >= least - 1e-12


class TestClaims1And2:
    """With EPS and enough samples an embedding with two modes in the first group beats the collapsed one."""

    @pytest.mark.parametrize("loss", ["triplet", "margin"])
    @pytest.mark.parametrize("groups", [2, 3])
    def test_two_modes_win_from_some_n_on(self, loss, groups):
        p = [0.6, 0.8, 0.95]
        curves = collapse.curves(p, np.arange(1, 12) * 2 * groups, loss=loss, groups=groups)
        assert np.isfinite(curves.crossing).all()
        for row, crossing in enumerate(curves.crossing):
            beyond = curves.n > crossing
            assert beyond.any()
            assert (curves.two_modes[row, beyond] < curves.collapsed[row, beyond]).all()
            before = curves.n < crossing
            assert not before.any() or curves.two_modes[row, before][-1] >= curves.collapsed[row, before][-1]

    @pytest.mark.parametrize("beta", [0.1, 0.2, 0.3, 0.4])
    def test_claim_2_for_the_papers_distances_and_any_beta(self, beta):
        labels = collapse.label_probabilities(60, 2, 0.8)
        risks = [
            expected_risk.margin(scene.distances, labels, ALPHA, beta, easy=True, order=scene.order)
            for scene in (collapse.collapsed(60, 2, ALPHA), collapse.two_modes(60, 2, ALPHA))
        ]
        assert risks[1] < risks[0]
