from functools import partial

import pytest
import torch

import dml.losses


def naive(y, proxies, scale, normalize, x):
    total = 0
    for row, label in zip(x, y.tolist(), strict=True):
        z = row / row.norm() if normalize else row
        d = [(scale * z - scale * p / p.norm()).square().sum() for p in proxies]
        others = sum(torch.exp(-d[c]) for c in range(len(d)) if c != label)
        total = total - torch.log(torch.exp(-d[label]) / others)
    return total / len(x)


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("normalize", [True, False])
def test_against_a_loop(check, scale, normalize):
    x, y = check.batch(0)
    y = y - 2**24
    loss = dml.losses.build("proxy_nca", num_classes=6, embedding_size=6, scale=scale, normalize=normalize).double()
    check.equal(loss, partial(naive, y, loss.proxies, scale, normalize), x, y, parameters=(loss.proxies,))


def test_a_mislabelled_sample_keeps_its_gradient():
    """Squared distance 4, scale 30: exp(-3600) is 0 in float64; a softmax would give loss 0 and no gradient."""
    loss = dml.losses.build("proxy_nca", num_classes=2, embedding_size=2, scale=30.0)
    with torch.no_grad():
        loss.proxies.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    x = torch.tensor([[1.0, 0.01]], requires_grad=True)
    value = loss(x, torch.tensor([1]))
    value.backward()
    assert value.item() == pytest.approx(3600, rel=1e-3)
    assert x.grad.abs().max() > 1


def test_one_class_is_no_loss():
    loss = dml.losses.build("proxy_nca", num_classes=1, embedding_size=3)
    x = torch.randn(4, 3, requires_grad=True)
    value = loss(x, torch.zeros(4, dtype=torch.int64))
    value.backward()
    assert value == 0
    assert torch.all(x.grad == 0)
