"""Scores and the first guess of the rate against naive loops, and on data whose noise is known."""

import numpy as np
import pytest

from dml.audit.neighbours import Vote
from dml.audit.probabilities import TOP, OutOfSample
from dml.audit.rate import confident_joint, sure
from dml.audit.scores import EVEN_LEAST, PRIOR, suspicion

pytestmark = pytest.mark.slow


def probabilities(rate: float, even: bool, n: int = 4000, classes: int = 8, sharp: float = 4.0, flat: float = 1.0):
    """Probabilities, the labels given by them, and what is wrong. They are calibrated, but for their scale `flat`."""
    rng = np.random.default_rng(0)
    logits = sharp * rng.normal(size=(n, classes))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    true = (p.cumsum(1) > rng.random((n, 1))).argmax(1)
    wrong = rng.random(n) < rate
    other = (true + (rng.integers(1, classes, size=n) if even else 1)) % classes
    given = np.where(wrong, other, true)
    logs = np.log(p**flat / (p**flat).sum(1, keepdims=True)).astype(np.float32)
    top = np.argsort(-logs, axis=1, kind="stable").astype(np.int32)[:, :TOP]
    own = logs[np.arange(n), given]
    return OutOfSample(own, top, np.take_along_axis(logs, top, 1), np.arange(n), logs), given, given != true, p


def test_the_score_equals_a_naive_loop():
    found, given, _, p = probabilities(0.2, even=False, n=60)
    weights = np.random.default_rng(0).random((2, 60))
    vote = Vote(np.minimum(*weights), np.maximum(*weights), np.zeros((0, 2)), np.zeros(0))
    score = suspicion(found, given, 0.3, vote)
    for image in range(60):
        q = 0.0
        for j in range(8):
            if j == given[image]:
                continue
            others = [i for i in range(60) if i != image and given[i] != j]
            seen = sum(p[i, j] for i in others if given[i] == given[image])
            q += p[image, j] * (seen + PRIOR / 7) / (sum(p[i, j] for i in others) + PRIOR)
        share = (vote.agreeing[image] + 0.5) / (vote.weight[image] + 0.5)
        expected = np.log(0.3 / 7 + 0.7 * q) - np.log(p[image, given[image]]) - 0.3 * np.log(share)
        assert score[image] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert EVEN_LEAST < 0.3


def test_the_confident_joint_equals_a_naive_loop():
    found, given, _, p = probabilities(0.3, even=True, n=300)
    own = p[np.arange(300), given]
    threshold = [own[given == k].mean() for k in range(8)]
    joint = np.zeros((8, 8))
    for image in range(300):
        above = [k for k in range(8) if p[image, k] >= threshold[k]]
        if above:
            joint[given[image], max(above, key=lambda k: p[image, k])] += 1
    joint *= np.bincount(given)[:, None] / joint.sum(1, keepdims=True)
    assert confident_joint(found, given) == pytest.approx(1 - np.trace(joint) / joint.sum(), abs=1e-6)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize(("classes", "sharp", "flat"), [(8, 4.0, 1.0), (8, 2.0, 1.0), (40, 4.0, 1.0), (8, 4.0, 0.03)])
def test_noise_that_does_not_depend_on_the_image_is_measured_wherever_it_goes(rate, even, classes, sharp, flat):
    found, given, wrong, p = probabilities(rate, even, 20000, classes, sharp, flat)
    assert (p.argmax(1) != given)[~wrong].mean() > 0.1  # the classifier makes errors of its own
    assert sure(found, given).rate == pytest.approx(wrong.mean(), abs=0.03)
