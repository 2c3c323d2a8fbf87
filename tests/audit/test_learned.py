"""Representations that are learned from labels: no image's label reaches the vectors that judge it."""

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from dml import audit
from dml.audit.inputs import observed_labels
from dml.audit.neighbours import vote_by_fold
from dml.audit.probabilities import Representation

pytestmark = pytest.mark.slow

SIZE = 12  # of the vectors


class Memoriser:
    """Knows nothing but the labels that it was given: an image's vector is its label's, or random without one."""

    digest = "memoriser"

    def __init__(self):
        self.calls = []

    def __call__(self, observed):
        self.calls.append([labels.copy() for labels in observed])
        noise = np.random.default_rng(0).normal(size=(len(observed[0]), SIZE))
        return [np.where((labels >= 0)[:, None], np.eye(SIZE)[labels], noise) for labels in observed]


class Collapsing:
    """As a trained network: an image that it was trained on is at its label's centre, any other where it looks like."""

    digest = "collapsing"

    def __init__(self, vectors, strength=0.9):
        self._vectors, self._strength = vectors, strength
        self.calls = 0

    def __call__(self, observed):
        self.calls += 1
        out = []
        for labels in observed:
            vectors = self._vectors.copy()
            for label in range(labels.max() + 1):
                own = labels == label
                vectors[own] += self._strength * (vectors[own].mean(axis=0) - vectors[own])
            out.append(vectors)
        return out


def test_no_label_reaches_the_vectors_of_its_own_fold(noisy):
    _, _, given = noisy
    learner = Memoriser()
    audit.audit(learner, given, seed=3)
    dealt = audit.folds_of(given, seed=3)
    (first, second) = learner.calls
    for fold in range(5):
        assert (first[fold][dealt == fold] == -1).all()
        assert (second[fold][dealt == fold] == -1).all()
        np.testing.assert_array_equal(first[fold][dealt != fold], given[dealt != fold])
        rest = second[fold][dealt != fold]
        assert 0 < (rest < 0).sum() < len(rest), "suspects are left out"
        assert ((rest < 0) | (rest == given[dealt != fold])).all()


def test_what_only_memorises_finds_nothing(noisy):
    """A memoriser that has seen an image's own label would give it a probability near 1."""
    _, true, given = noisy
    found = audit.audit(Memoriser(), given)
    assert found.own.max() < 0.6
    assert abs(average_precision_score(given != true, found.score) - 0.2) < 0.08
    assert found.losses["vectors"] > np.log(6) - 0.05


def test_held_out_probabilities_are_calibrated(noisy):
    """In-sample vectors are collapsed, so that a layer fitted to them is far too sure of others."""
    vectors, _, given = noisy
    dealt = audit.folds_of(given)
    every = np.ones(len(given), dtype=bool)
    learned = Collapsing(vectors, strength=1.0)(observed_labels(given, dealt, every))
    spaces = [torch.from_numpy(space).float() for space in learned]
    plain = Representation(spaces, given, dealt).round(every)
    found = Representation(spaces, given, dealt, calibrated=True).round(every)
    assert found.loss(every) < plain.loss(every) - 0.02
    np.testing.assert_array_equal(found.top[:, 0], plain.top[:, 0])
    assert sorted(found.sample) == list(range(len(given)))

    def loss(scale):
        logs = torch.from_numpy(found.logs).double().mul(scale).log_softmax(1).numpy()
        return -logs[np.arange(len(given)), given[found.sample]].mean()

    assert loss(1.0) < min(loss(0.97), loss(1.03))
    assert loss(1.0) == pytest.approx(found.loss(every), abs=1e-4)


def test_the_likelier_representation_is_used(noisy):
    vectors, _, given = noisy
    found = audit.audit({"net": Memoriser(), "blobs": vectors}, given)
    assert found.representation == "blobs"
    assert set(found.losses) == {"net", "blobs"}
    noise = np.random.default_rng(0).normal(size=vectors.shape)
    learner = Collapsing(vectors, 0.3)
    found = audit.audit({"net": learner, "noise": noise}, given)
    assert found.representation == "net"
    assert learner.calls == 2
    unused = Memoriser()
    audit.audit({"net": unused, "blobs": vectors}, given)
    assert len(unused.calls) == 1, "only the representation that is used gets a second round"


def test_neighbours_are_those_in_the_vectors_of_the_own_fold():
    rng = np.random.default_rng(0)
    n, k = 60, 7
    codes, folds = rng.integers(0, 3, n), rng.integers(0, 4, n)
    codes[:4] = folds[:4] = -1
    spaces, trust = rng.normal(size=(4, n, 5)).astype(np.float32), rng.random(n)
    found = vote_by_fold([torch.from_numpy(space) for space in spaces], folds, None, codes, trust, k, 0.999)
    for i in range(n):
        if codes[i] < 0:
            assert found.weight[i] == 0
            continue
        space = spaces[folds[i]].astype(np.float64)
        unit = space / np.linalg.norm(space, axis=1, keepdims=True)
        similar = np.where((codes >= 0) & (np.arange(n) != i), unit @ unit[i], -np.inf)
        near = np.argsort(-similar)[:k]
        assert found.weight[i] == pytest.approx(trust[near].sum())
        assert found.agreeing[i] == pytest.approx(trust[near][codes[near] == codes[i]].sum())


def test_a_class_of_which_all_are_suspected_is_learned_nevertheless():
    codes = np.array([0, 0, 0, 1, 1, 1, -1])
    folds = np.array([0, 1, 2, 0, 1, 2, -1])
    kept = np.array([True, True, True, True, False, False, True])
    labels = observed_labels(codes, folds, kept)
    assert [fold.tolist() for fold in labels] == [
        [-1, 0, 0, -1, 1, 1, -1],  # class 1 would have none
        [0, -1, 0, 1, -1, -1, -1],
        [0, 0, -1, 1, -1, -1, -1],
    ]


def test_it_repeats(noisy):
    vectors, _, given = noisy
    first, again = (audit.audit({"net": Collapsing(vectors)}, given) for _ in range(2))
    assert np.array_equal(first.score, again.score)
    assert (first.losses, first.rate) == (again.losses, again.rate)
