"""Losses with learned centres of classes: each against a loop, and against pytorch-metric-learning."""

import math
from functools import partial

import pytest
import torch

import dml.losses

CLASSES = 6


def built(name, **settings):
    torch.manual_seed(0)
    return dml.losses.build(name, num_classes=CLASSES, embedding_size=6, **settings).double()


def cosines(check, x, proxies, normalize):
    return (check.unit_rows(x) if normalize else x) @ check.unit_rows(proxies.reshape(-1, 6)).T


def arcface(check, loss, y, x):
    total = 0
    for row, label in zip(cosines(check, x, loss.proxies, True), y.tolist(), strict=True):
        best = [max(row[c * loss.centers + k] for k in range(loss.centers)) for c in range(CLASSES)]
        angle = loss.factor * torch.acos(best[label]) + loss.margin
        own = torch.cos(angle) if angle <= math.pi else -2 - torch.cos(angle)
        best[label] = own - loss.cosine_margin
        logits = torch.stack(best) * loss.scale
        total = total + torch.logsumexp(logits, 0) - logits[label]
    return total / len(y)


def proxy_anchor(check, loss, y, x):
    s = cosines(check, x, loss.proxies, loss.normalize)
    near, far = [], []
    for c in range(CLASSES):
        own = [s[i, c] for i in range(len(y)) if y[i] == c]
        others = [s[i, c] for i in range(len(y)) if y[i] != c]
        if own:
            near.append(torch.log(1 + sum(torch.exp(-loss.alpha * (v - loss.margin)) for v in own)))
        far.append(torch.log(1 + sum(torch.exp(loss.alpha * (v + loss.margin)) for v in others)))
    return sum(near) / len(near) + sum(far) / CLASSES


def soft_triple(check, loss, y, x):
    k, s = loss.centers, cosines(check, x, loss.proxies, loss.normalize)
    total = 0
    for row, label in zip(s, y.tolist(), strict=True):
        logits = []
        for c in range(CLASSES):
            own = row[c * k : c * k + k]
            logits.append((torch.softmax(own / loss.gamma, 0) * own).sum())
        logits[label] = logits[label] - loss.margin
        logits = torch.stack(logits) * loss.scale
        total = total + torch.logsumexp(logits, 0) - logits[label]
    w, spread = check.unit_rows(loss.proxies.reshape(-1, 6)), 0
    for c in range(CLASSES):
        for a in range(k):
            for b in range(a + 1, k):
                spread = spread + torch.sqrt(2 - 2 * w[c * k + a] @ w[c * k + b])
    return total / len(y) + (loss.merging * spread / (CLASSES * k * (k - 1)) if k > 1 else 0)


def probabilities(check, loss, x, y):
    """Each sample's p, (CLASSES,), and its class."""
    s = cosines(check, x, loss.proxies, loss.normalize) / loss.temperature
    return [(torch.exp(row - row.max()) / torch.exp(row - row.max()).sum(), c) for row, c in zip(s, y, strict=True)]


def generalized(check, loss, y, x):
    return sum((1 - p[c] ** loss.q) / loss.q for p, c in probabilities(check, loss, x, y)) / len(y)


def bootstrap(check, loss, y, x):
    total = 0
    for p, c in probabilities(check, loss, x, y):
        guess = p if loss.form == "soft" else torch.eye(CLASSES, dtype=p.dtype)[p.argmax()]
        target = loss.beta * torch.eye(CLASSES, dtype=p.dtype)[c] + (1 - loss.beta) * guess
        total = total - (target * torch.log(p)).sum()
    return total / len(y)


@pytest.mark.parametrize(
    ("name", "naive", "settings"),
    [
        ("generalized_softmax", generalized, {}),
        ("generalized_softmax", generalized, {"q": 1.0, "temperature": 0.3}),
        ("generalized_softmax", generalized, {"q": 0.2, "normalize": False, "temperature": 1.0}),
        ("bootstrap_softmax", bootstrap, {}),
        ("bootstrap_softmax", bootstrap, {"form": "soft", "beta": 0.9, "temperature": 0.2}),
        ("bootstrap_softmax", bootstrap, {"beta": 0.5, "normalize": False, "temperature": 1.0}),
        ("arcface", arcface, {"scale": 8.0}),
        ("arcface", arcface, {"scale": 4.0, "margin": 1.5}),
        ("arcface", arcface, {"margin": 0.0, "cosine_margin": 0.35, "scale": 16.0}),
        ("arcface", arcface, {"margin": 0.3, "cosine_margin": 0.2, "factor": 1.35, "scale": 8.0, "centers": 3}),
        ("proxy_anchor", proxy_anchor, {}),
        ("proxy_anchor", proxy_anchor, {"alpha": 4.0, "margin": 0.3, "normalize": False}),
        ("soft_triple", soft_triple, {}),
        ("soft_triple", soft_triple, {"centers": 1, "scale": 5.0}),
        ("soft_triple", soft_triple, {"centers": 3, "gamma": 1.0, "margin": 0.2, "normalize": False}),
    ],
)
def test_against_a_loop(check, name, naive, settings):
    x, y = check.batch(0)
    y = y - 2**24
    y[y == 5] = 4  # a class without a sample
    loss = built(name, **settings)
    check.equal(loss, partial(naive, check, loss, y), x, y, parameters=(loss.proxies,))


@pytest.mark.parametrize("name", ["arcface", "proxy_anchor", "generalized_softmax", "bootstrap_softmax"])
def test_sampled_classes_are_those_of_the_batch_and_others_at_random(check, name):
    """A step is that of a loss with the sampled classes only; the rest of the centres have no gradient."""
    x, _ = check.batch(0, sizes=(2,) * 3, duplicates=False)
    y = torch.tensor([30, 7, 30, 7, 99, 0])
    torch.manual_seed(0)
    loss = dml.losses.build(name, num_classes=100, embedding_size=6, sampled=0.2).double()
    other = torch.ones(100, dtype=torch.bool).index_fill(0, y, False)
    seen = torch.zeros(100)
    for _ in range(40):
        loss.zero_grad()
        value = loss(x, y)
        value.backward()
        taken = loss.proxies.grad.abs().sum(1) > 0
        assert taken.sum() == 20
        assert taken[y].all()
        with torch.random.fork_rng():
            alone = dml.losses.build(name, num_classes=20, embedding_size=6).double()
        alone.load_state_dict({"proxies": loss.proxies.detach()[taken]})
        torch.testing.assert_close(alone(x, taken.cumsum(0)[y] - 1), value)
        seen += taken
    assert seen[other].min() > 0
    torch.manual_seed(1)
    one = loss(x, y)
    torch.manual_seed(1)
    assert torch.equal(one, loss(x, y))


@pytest.mark.parametrize(("margin", "factor"), [(1.0, 1), (0.5, 2), (0.0, 4)])
def test_past_pi_the_logit_still_falls(margin, factor):
    loss = dml.losses.build("arcface", num_classes=2, embedding_size=2, margin=margin, factor=factor).double()
    angles = torch.linspace(0.01, math.pi - 0.01, 200, dtype=torch.float64)
    logits = loss._with_margin(torch.cos(angles)[:, None])[:, 0]
    assert (logits.diff() < 0).all()
    assert logits.diff().abs().max() < 0.02 * factor
