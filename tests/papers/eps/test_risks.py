"""Risks on clean labels, crossings, minimisers, ranks and stability, against loops and enumeration."""

import itertools

import numpy as np
import pytest
from scipy import stats

from papers import free_points
from papers.eps.theory import clean_risk, collapse, crossing, expected_risk, minimisers, ranks, stability

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


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("p", [0.6, 0.9])
def test_the_advantage_is_that_of_the_first_groups_anchors(groups, p):
    n = 8 * groups
    labels = collapse.label_probabilities(n, groups, p)
    scenes = collapse.collapsed(n, groups, 1.0), collapse.two_modes(n, groups, 1.0)
    f1, f2 = (expected_risk.triplet(s.distances, labels, 1.0, True, s.order) * n * (n - 2) for s in scenes)
    assert crossing.advantage(n, groups, p, "triplet") * n / groups == pytest.approx(f1 - f2)
    f1, f2 = (expected_risk.margin(s.distances, labels, 1.0, 0.7, True, s.order) * n * (n - 1) for s in scenes)
    assert crossing.advantage(n, groups, p, "margin", beta=0.7) * n / groups == pytest.approx(f1 - f2)


@pytest.mark.parametrize("p", [0.55, 0.6, 0.8, 0.95])
def test_two_labels(p):
    """Triplet: not yet at 8 samples, surely at 16. Margin: from 8."""
    assert crossing.advantage(8, 2, p, "triplet") < 0 < crossing.advantage(16, 2, p, "triplet")
    assert crossing.crossing(2, p, "triplet", 200) == 12 <= crossing.proven_for_triplet(2, p)
    assert crossing.crossing(2, p, "margin", 200) == 8 <= crossing.proven_for_margin(2, p)
    for beta in (-0.9, 0.0, 2.0):
        assert crossing.crossing(2, p, "margin", 200, beta=beta) is not None
    # With beta = -alpha no negative of the class has loss, and a second mode only makes positives farther.
    assert all(crossing.advantage(n, 2, p, "margin", beta=-1.0) < 0 for n in (8, 16, 32))


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

        def risk(within, between):
            return minimisers.triplet(minimisers.simplex(group, within, between), labels, ALPHA)

        assert [risk(w, w + ALPHA) for w in (0, 0.1, 3)] == pytest.approx([least] * 3, abs=1e-13)
        for factor in (0.9, 1.1):
            assert risk(0.1, 0.1 + factor * ALPHA) > least + 1e-6

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


def test_it_is_the_test_of_the_samples():
    generator = np.random.default_rng(0)
    a, b = generator.normal(60, 0.5, 8), generator.normal(60.4, 1.5, 8)
    expected = stats.ttest_ind(b, a, equal_var=False)
    found = stability.welch((a.mean(), a.std(ddof=1)), (b.mean(), b.std(ddof=1)), 8)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.effect == pytest.approx(b.mean() - a.mean())
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))


def test_the_published_case_of_cub():
    """CUB, triplet: t = 1.35, p = 0.20; CUB, margin, as printed: p = 0.92."""
    found = stability.welch((61.5, 0.52), (61.8, 0.35), 8)
    assert found.p == pytest.approx(0.200, abs=5e-4)
    assert found.low < 0 < found.high
    assert stability.welch((63.6, 29.8), (64.7, 0.33), 8).p == pytest.approx(0.920, abs=5e-4)
