"""Accuracy of float32: without normalisation, far from the origin, beside outliers, at any scale of the rows."""

from __future__ import annotations

import pytest
import torch

import dml.losses

OF_DISTANCES = {
    "contrastive": {"margin": 8.0},
    "triplet": {"margin": 2.0},
    "margin": {"beta": 5.0, "beta_per": "none"},
    "lifted_structure": {},
    "quadruplet": {"margin": 5.0, "margin2": 5.0},
    "lifted_hinge": {"margin": 5.0},
    "hphn_triplet": {"margin": 5.0},
}
SYNTHETIC = [
    (name, {"margin": 5.0, "synthesis": synthesis})
    for name in ("triplet", "lifted_hinge", "hphn_triplet")
    for synthesis in ("loop_linear", "embedding_expansion")
]
CASES = [*OF_DISTANCES.items(), *SYNTHETIC, ("trimmed", {"loss": {"name": "triplet", "margin": 2.0}})]


def batch(dtype=torch.float64, spread=1.0, outlier=False):
    """Classes of 4; `outlier`: the length of one row is 1000."""
    g = torch.Generator().manual_seed(0)
    y = torch.arange(16).repeat_interleave(4)
    x = torch.randn(16, 8, generator=g, dtype=torch.float64)[y]
    x = x + spread * torch.randn(64, 8, generator=g, dtype=torch.float64)
    if outlier:
        x[5] *= 1000 / x[5].norm()
    return x.to(dtype), y


def value_and_gradient(loss, x, y):
    x = x.clone().requires_grad_()
    value = loss(x, y)
    value.backward()
    return value.detach().double(), x.grad.double()


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_common_offset_changes_nothing(name, settings):
    """Distances do not depend on the origin. Float32 rounds near 100, so the float64 input is rounded likewise."""
    loss = dml.losses.build(name, normalize=False, **settings)
    x, y = batch()
    x = (x + 100).float().double() - 100
    value, gradient = value_and_gradient(loss.double(), x, y)
    got, got_gradient = value_and_gradient(loss.float(), (x + 100).float(), y)
    torch.testing.assert_close(got, value, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(got_gradient, gradient, rtol=0, atol=1e-3 * float(gradient.abs().max()))


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_an_outlier_does_not_blur_the_others(name, settings, offset):
    """One row of length 1000: the rounding of its distances must not count as that of the others."""
    loss = dml.losses.build(name, normalize=False, **settings)
    x, y = batch(spread=0.15, outlier=True)
    x = (x + offset).float().double() - offset
    others = torch.arange(64) != 5
    value, gradient = value_and_gradient(loss.double(), x, y)
    got, got_gradient = value_and_gradient(loss.float(), (x + offset).float(), y)
    torch.testing.assert_close(got, value, rtol=1e-4, atol=1e-6)
    largest = float(gradient[others].abs().max())
    torch.testing.assert_close(got_gradient[others], gradient[others], rtol=0, atol=2e-3 * largest)


def test_as_pytorch_metric_learning_beside_an_outlier():
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    distances = pytest.importorskip("pytorch_metric_learning.distances")
    x, y = batch(torch.float32, spread=0.15, outlier=True)
    theirs = losses.TripletMarginLoss(margin=0.2, distance=distances.LpDistance(normalize_embeddings=False))
    ours = dml.losses.build("triplet", margin=0.2, normalize=False)
    torch.testing.assert_close(ours(x, y), theirs(x, y), rtol=1e-4, atol=0)


@pytest.mark.parametrize("name", ["softmax", "proxy_nca", "lifted_hinge", "hphn_triplet", "triplet", "trimmed"])
@pytest.mark.parametrize("scale", [1e-23, 1e-14, 1e19, 1e30])
def test_the_length_of_rows_does_not_matter(name, scale):
    """Normalised rows: the value is that of any other scale, the gradient times the scale as well."""
    torch.manual_seed(0)
    learned = {"num_classes": 16, "embedding_size": 8} if name in ("softmax", "proxy_nca") else {}
    loss = dml.losses.build(name, **learned)
    x, y = batch(torch.float32)
    value, gradient = value_and_gradient(loss, x, y)
    got, got_gradient = value_and_gradient(loss, x * scale, y)
    torch.testing.assert_close(got, value, rtol=1e-4, atol=1e-6)
    if scale > 1e-20:  # float32 does not go beyond 3e38
        torch.testing.assert_close(got_gradient * scale, gradient, rtol=1e-3, atol=1e-4 * float(gradient.abs().max()))
    else:
        assert torch.isfinite(got_gradient).all()


def test_proxies_of_any_length():
    x, y = batch(torch.float32)
    values = []
    for scale in (1.0, 1e-23, 1e19):
        torch.manual_seed(0)
        loss = dml.losses.build("proxy_nca", num_classes=16, embedding_size=8)
        with torch.no_grad():
            loss.proxies *= scale
        value = loss(x, y)
        value.backward()
        assert torch.isfinite(loss.proxies.grad).all()
        values.append(value.detach())
    torch.testing.assert_close(values[1], values[0])
    torch.testing.assert_close(values[2], values[0])


def test_a_scaled_float16_loss_has_a_finite_gradient():
    """65536 is infinite in float16, the scaled gradient is not."""
    x, y = batch(torch.float16)
    x.requires_grad_()
    (65536 * dml.losses.build("triplet")(x, y)).backward()
    assert torch.isfinite(x.grad).all()
    assert x.grad.abs().max() > 0
