"""Accuracy of float32: rows of any lengths, near each other, far from the origin, beside outliers."""

import copy

import pytest
import torch

import dml.losses
from dml import discovery
from dml.losses.synthesis import SYNTHESES

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


def value_and_gradients(check, loss, x, y):
    """The value, and its derivatives with respect to x and what the loss learns, in float64."""
    value, gradients = check.value_and_gradient(lambda e: loss(e, y), x, *loss.parameters())
    return [tensor.double() for tensor in (value, *gradients)]


def every_loss():
    """Every loss with its defaults, its other choices, and each way to synthesise negatives."""
    for name in discovery.names("dml.losses"):
        if dml.losses.closed_form_of(name) is not None:
            continue
        part = discovery.find("dml.losses", name)
        choices = [
            (key, option) for key, space in part.search_space.items() for option in getattr(space, "options", ())
        ]
        if "synthesis" in discovery.defaults_of(part):
            choices += [("synthesis", option) for option in SYNTHESES]
        if name == "trimmed":  # with one beta: which of the equal pairs (i, j) and (j, i) it keeps decides on others
            one_beta = {"name": "margin", "beta_per": "all"}
            choices = [
                ("loss", inner) for inner in ("contrastive", "lifted_structure", "proxy_nca", "softmax", one_beta)
            ]
        for settings in ({}, *({key: option} for key, option in choices)):
            for normalize in (True, False):
                if normalize or settings.get("synthesis") != "loop":
                    yield pytest.param(name, {**settings, "normalize": normalize})


def rows_of(kind, length):
    """Rows (24, 8) of 6 classes: all of one length; from 1 to `length`; tight classes; or beside a common offset."""
    g = torch.Generator().manual_seed(1)
    y = torch.arange(6).repeat_interleave(4)
    centre, noise = (torch.randn(n, 8, generator=g, dtype=torch.float64) for n in (6, 24))
    x = torch.nn.functional.normalize(centre[y] + (0.1 if kind == "tight" else 0.7) * noise)
    if kind == "spread":
        x = x * length ** torch.linspace(0, 1, 24)[torch.randperm(24, generator=g)][:, None]
    elif kind == "offset":
        x = x + length
    else:
        x = x * length
    return x.float(), y


@pytest.mark.parametrize(("name", "settings"), every_loss())
@pytest.mark.parametrize("kind", ["one length", "spread", "tight", "offset"])
def test_rows_of_any_length(check, kind, name, settings):
    """The value, and the gradient of the embeddings and of what the loss learns, are those of float64."""
    for length in (1, 17, 300):
        x, y = rows_of(kind, length)
        torch.manual_seed(0)
        loss = dml.losses.build_for(name, settings, num_classes=6, embedding_size=8)
        exact = copy.deepcopy(loss).double()
        value, *gradients = value_and_gradients(check, exact, x.double(), y)
        got, *got_gradients = value_and_gradients(check, loss, x, y)
        torch.testing.assert_close(got, value, rtol=1e-4, atol=1e-6)
        for single, double in zip(got_gradients, gradients, strict=True):
            torch.testing.assert_close(single, double, rtol=0, atol=1e-3 * float(double.abs().max()) + 1e-9)


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_an_outlier_does_not_blur_the_others(check, name, settings, offset):
    """One row of length 1000: the rounding of its distances must not count as that of the others."""
    loss = dml.losses.build(name, normalize=False, **settings)
    x, y = batch(spread=0.15, outlier=True)
    x = (x + offset).float().double() - offset
    others = torch.arange(64) != 5
    value, gradient, *_ = value_and_gradients(check, loss.double(), x, y)
    got, got_gradient, *_ = value_and_gradients(check, loss.float(), (x + offset).float(), y)
    torch.testing.assert_close(got, value, rtol=1e-4, atol=1e-6)
    largest = float(gradient[others].abs().max())
    torch.testing.assert_close(got_gradient[others], gradient[others], rtol=0, atol=2e-3 * largest)


@pytest.mark.parametrize("name", ["softmax", "proxy_nca", "lifted_hinge", "hphn_triplet", "triplet", "trimmed"])
@pytest.mark.parametrize("scale", [1e-23, 1e30])
def test_the_length_of_rows_does_not_matter(check, name, scale):
    """Normalised rows: the value is that of any other scale, the gradient times the scale as well."""
    torch.manual_seed(0)
    learned = {"num_classes": 16, "embedding_size": 8} if name in ("softmax", "proxy_nca") else {}
    loss = dml.losses.build(name, **learned)
    x, y = batch(torch.float32)
    value, gradient, *_ = value_and_gradients(check, loss, x, y)
    got, got_gradient, *_ = value_and_gradients(check, loss, x * scale, y)
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
