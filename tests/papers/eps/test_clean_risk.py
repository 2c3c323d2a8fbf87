"""Risks on clean labels: against loops, and section 4.1's conditions."""

import numpy as np
import pytest

from papers import free_points
from papers.eps.theory import clean_risk

ALPHA = 0.2


def scene(seed, n=7, classes=3):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(n, 2)) * 0.5
    return free_points.squared(points), generator.permutation(np.arange(n) % classes)


@pytest.mark.parametrize("seed", range(4))
def test_risks_are_means_over_distinct_indices(seed):
    d, y = scene(seed)
    each = range(len(y))
    pairs = [(i, j) for i in each for j in each if i != j]
    pull = {pair: y[pair[0]] == y[pair[1]] for pair in pairs}
    contrastive = [d[i, j] if pull[i, j] else max(ALPHA - d[i, j], 0) for i, j in pairs]
    margin = [max(d[i, j] - 0.5 + ALPHA, 0) if pull[i, j] else max(0.5 - d[i, j] + ALPHA, 0) for i, j in pairs]
    triplet = [max(d[i, j] - d[i, k] + ALPHA, 0) for i, j in pairs if pull[i, j] for k in each if y[k] != y[i]]
    assert clean_risk.contrastive(d, y, ALPHA) == pytest.approx(np.mean(contrastive))
    assert clean_risk.margin(d, y, ALPHA, 0.5) == pytest.approx(np.mean(margin))
    assert clean_risk.triplet(d, y, ALPHA) == pytest.approx(np.mean(triplet))


class TestSection41:
    """The family of embeddings without loss."""

    def test_the_constant_map_fulfils_the_printed_condition_and_has_loss(self):
        d, y = clean_risk.line(0.0, 0.0)
        assert clean_risk.printed(clean_risk.shape(d, y), ALPHA)
        assert clean_risk.triplet(d, y, ALPHA) == pytest.approx(ALPHA)
        assert clean_risk.margin(d, y, ALPHA, ALPHA) == pytest.approx(2 * ALPHA * 4 / 7)  # 4 of 7 pairs are negative

    @pytest.mark.parametrize("squared", [True, False])
    def test_the_corrected_conditions_are_enough_for_any_embedding(self, squared):
        generator = np.random.default_rng(0)
        kept = np.zeros(2, dtype=int)
        for _ in range(400):
            y = np.arange(8) % 3
            points = generator.normal(size=(8, 3)) * generator.uniform(0, 0.5)
            points += 3 * generator.normal(size=(3, 3))[y]
            d = free_points.squared(points)
            d = d if squared else np.sqrt(d)
            found = clean_risk.shape(d, y)
            if clean_risk.corrected(found, ALPHA):
                kept[0] += 1
                assert clean_risk.triplet(d, y, ALPHA) == 0
            if clean_risk.corrected(found, ALPHA, gaps=2):
                kept[1] += 1
                assert clean_risk.margin(d, y, ALPHA, found.widest + ALPHA) < 1e-15
        assert (kept > 50).all()

    @pytest.mark.parametrize("diameter", [0.0, 0.3, 1.0])
    def test_on_a_line_they_are_also_necessary(self, diameter):
        for gap in np.linspace(0, 2, 41):
            d, y = clean_risk.line(diameter, gap)
            if abs(gap - diameter - ALPHA) > 1e-9:
                assert (clean_risk.triplet(d, y, ALPHA) < 1e-12) == (gap > diameter + ALPHA)
            least = min(clean_risk.margin(d, y, ALPHA, beta) for beta in np.linspace(0, 2, 201))
            if gap < diameter + 2 * ALPHA - 0.02:
                assert least > 0
