"""Eta: known skews are found again, and an empty bin does not decide."""

import numpy as np
import pytest

from dml.theory import eta


def unit(count, width, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(count, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_histograms_against_loops():
    embeddings, labels = unit(40, 3), np.arange(40) % 5
    anchors, negatives = np.array([0, 0, 7, -1, 12]), np.array([1, 13, 3, -1, 14])
    drawn, uniform = eta.histograms(embeddings, labels, anchors, negatives)
    expected_drawn, expected_uniform = np.zeros(40), np.zeros(40)
    for anchor, negative in zip(anchors, negatives, strict=True):
        if anchor < 0:
            continue
        distance = np.linalg.norm(embeddings[anchor] - embeddings[negative])
        expected_drawn[min(int(distance / 0.05), 39)] += 1
        for other in range(40):
            if labels[other] != labels[anchor]:
                distance = np.linalg.norm(embeddings[anchor] - embeddings[other])
                expected_uniform[min(int(distance / 0.05), 39)] += 1
    assert (drawn == expected_drawn).all()
    assert (uniform == expected_uniform).all()


def test_uniform_drawing_has_no_skew():
    generator = np.random.default_rng(0)
    uniform = np.array([0, 50, 5000, 20000, 20000, 3000, 10])
    drawn = generator.multinomial(200_000, uniform / uniform.sum())
    skew = eta.estimate(drawn, uniform * 100)
    assert skew.eta == pytest.approx(1.0, abs=0.2)
    assert skew.low < 1.05


def test_a_known_skew_is_found():
    uniform = np.array([1000, 4000, 5000])
    skew = eta.estimate(np.array([300, 400, 300]), uniform)
    assert skew.eta == pytest.approx(3.0)
    assert skew.bin == 0
    assert skew.low < 3.0 < skew.high
    assert skew.ratio == pytest.approx([3.0, 1.0, 0.6])


def test_a_bin_with_hardly_a_pair_does_not_decide():
    drawn, uniform = np.array([3, 500, 500, 0]), np.array([1, 5000, 5000, 0])
    skew = eta.estimate(drawn, uniform)
    assert skew.bin in (1, 2)
    assert skew.eta == pytest.approx(1.0, abs=0.01)
    assert np.isnan(skew.ratio[[0, 3]]).all()


def test_harder_drawing_has_more_skew():
    """The paper's conjecture on synthetic embeddings: eta of random semi-hard is below that of the hardest one."""
    generator = np.random.default_rng(1)
    random = fixed = 0
    for seed in range(60):
        labels = np.arange(60) // 5
        centres = unit(12, 16, seed)[labels]
        embeddings = centres + 0.25 * generator.normal(size=(60, 16))
        embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
        distances = np.linalg.norm(embeddings[:, None] - embeddings[None], axis=2)
        triples = {"random": [], "fixed": []}
        for a in range(60):
            for p in np.flatnonzero((labels == labels[a]) & (np.arange(60) != a)):
                foreign = labels != labels[a]
                semihard = np.flatnonzero(foreign & (distances[a] < distances[a, p] + 0.2))
                beyond = np.flatnonzero(foreign & (distances[a] > distances[a, p]))
                if len(semihard):
                    triples["random"].append((a, generator.choice(semihard)))
                if len(beyond):
                    triples["fixed"].append((a, beyond[distances[a, beyond].argmin()]))
        counted = {k: np.array(eta.histograms(embeddings, labels, *np.array(v).T)) for k, v in triples.items()}
        random, fixed = random + counted["random"], fixed + counted["fixed"]
    assert 1 < eta.estimate(*random).eta < eta.estimate(*fixed).eta


def test_gamma():
    uniform = np.array([1000, 1000, 1000])
    negative = eta.estimate(np.array([600, 300, 0]), uniform)
    positive = eta.estimate(np.array([400, 400, 200]), uniform)
    assert eta.gamma(negative, positive) == pytest.approx(1.0 / 1.2)
    rare = eta.estimate(np.array([600, 300, 2]), uniform)
    assert eta.gamma(rare, positive) == pytest.approx(1.0 / 1.2, rel=0.01)  # two draws do not decide


def test_nothing_to_tell():
    with pytest.raises(ValueError, match="no bin has 10 pairs, of 3 drawn"):
        eta.estimate(np.array([1, 2]), np.array([5, 5]))
    with pytest.raises(ValueError, match="expected two histograms"):
        eta.estimate(np.zeros(3), np.zeros(4))
