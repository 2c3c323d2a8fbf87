"""Claims 3 and 4: the formulas against the exact weights, and M against every order of small groups."""

import itertools

import numpy as np
import pytest

from papers.eps.theory import collapse, expected_risk, ranks

CHANCES = (0.55, 0.7, 0.8, 0.9)


def all_orders(n):
    """Every order of the two groups among the neighbours of sample 0."""
    for own in itertools.combinations(range(n - 1), n // 2 - 1):
        order = np.full(n - 1, -1)
        order[list(own)] = np.arange(1, n // 2)
        order[order < 0] = np.arange(n // 2, n)
        yield order


class TestClaim3:
    @pytest.mark.parametrize("p", CHANCES)
    def test_terms_are_products(self, p):
        q = 1 - p
        for order in all_orders(8):
            positive, negative = ranks.margin_terms(order, p)
            own = order < 4
            for place in range(7):
                mine, others = own[:place].sum(), (~own[:place]).sum()
                if own[place]:
                    expected = p**2 * q**mine * p**others + q**2 * p**mine * q**others
                    assert negative[place] == pytest.approx(2 * p * q)
                else:
                    expected = p * q * (q**mine * p**others + p**mine * q**others)
                    assert negative[place] == pytest.approx(p**2 + q**2)
                assert positive[place] == pytest.approx(expected)

    @pytest.mark.parametrize("p", CHANCES)
    def test_the_best_distance_is_that_of_a_search(self, p):
        order = ranks.order_of("other group first", 12, foreign=2)
        positive, negative = ranks.margin_terms(order, p)
        grid = np.linspace(0, 2, 201)
        pull, push = np.maximum(grid - 1.2 + 0.2, 0), np.maximum(1.2 - grid + 0.2, 0)
        best = grid[(positive[:, None] * pull + negative[:, None] * push).argmin(axis=1)]
        assert np.allclose(ranks.best_distance(order, p, 0.2, 1.2), best)

    @pytest.mark.parametrize("p", [*CHANCES, 0.95])
    def test_at_most_one_is_pulled_and_none_beyond_m(self, p):
        last = 0
        for order in all_orders(12):
            positive, negative = ranks.margin_terms(order, p)
            pulled = np.flatnonzero(positive > negative)
            assert len(pulled) <= 1
            if len(pulled):
                assert pulled[0] == np.flatnonzero(order < 6)[0]  # the nearest of the own group
                last = max(last, int(pulled[0]) + 1)
        assert last == min(ranks.pulled_up_to(p), 7)  # behind the six samples of the other group at most
        assert ranks.pulled_up_to(p) <= ranks.proven_for_margin(p)


class TestClaim4:
    @pytest.mark.parametrize("p", CHANCES)
    def test_terms_are_the_triplet_weights(self, p):
        labels = collapse.label_probabilities(8, 2, p)
        for order in all_orders(8):
            weights, own = expected_risk.triplet_weights(labels, 0, order, easy=True), order < 4
            for near, far in itertools.combinations(range(7), 2):
                before, between = own[:near], own[near + 1 : far]
                first, second = ranks.triplet_terms(
                    p,
                    (int(before.sum()), int((~before).sum()), bool(own[near])),
                    (int(between.sum()), int((~between).sum())),
                    bool(own[far]),
                )
                assert first == pytest.approx(weights[near, far])
                assert second == pytest.approx(weights[far, near])

    @pytest.mark.parametrize("p", CHANCES)
    @pytest.mark.parametrize("place", [1, 2, 3])
    def test_m_is_that_of_every_order(self, p, place):
        n = 12
        labels, last = collapse.label_probabilities(n, 2, p), 0
        for order in all_orders(n):
            weights = expected_risk.triplet_weights(labels, 0, order, easy=True)
            for step in range(1, n - 1 - place):
                first, second = weights[place - 1, place - 1 + step], weights[place - 1 + step, place - 1]
                if second >= first * (1 - 1e-12):
                    last = max(last, step)
        most = 6 - place + 1  # with so many between, all of one group, every order is among those of 12 samples
        assert min(last, most) == ranks.pushed_beyond(p, place, most)
