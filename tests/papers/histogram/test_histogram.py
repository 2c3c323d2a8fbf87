"""The histogram loss as an estimate, and its section of the theory page."""

import numpy as np
import pytest
import torch

from dml.losses import build
from papers.histogram.sections.histogram_estimate import HistogramEstimate
from papers.histogram.theory import reverse_order, similarity_laws
from papers.histogram.theory.reverse_order import Similarities
from papers.histogram.verdicts import of_histogram as histogram_verdicts


def random(seed=0, positives=30, negatives=50):
    rng = np.random.default_rng(seed)
    return Similarities(rng.uniform(-1, 1, positives), rng.uniform(-1, 1, negatives))


@pytest.mark.parametrize("bins", [2, 3, 21, 201])
def test_all_quadruplets(bins):
    """A loop over pairs of pairs, with each similarity's two nodes by hand."""
    s = random()
    nodes = np.linspace(-1, 1, bins)
    step = 2 / (bins - 1)

    def share(value):
        return np.maximum(1 - np.abs(value - nodes) / step, 0)

    by_hand = np.mean([share(n) @ share(p).cumsum() for n in s.negative for p in s.positive])
    assert reverse_order.loss(s, bins) == pytest.approx(by_hand, abs=1e-12)
    assert reverse_order.quadruplet_mean(s, bins) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("bins", [2, 21, 201])
def test_the_same_as_the_losses(bins):
    """Value, and the gradient by the embeddings through the similarities."""
    g = torch.Generator().manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(20, 6, generator=g, dtype=torch.float64), dim=1).requires_grad_()
    y = torch.arange(5).repeat(4)
    value = build("histogram", bins=bins, normalize=False)(x, y)
    s = similarity_laws.of_embeddings(x.detach().numpy(), y.numpy())
    assert reverse_order.loss(s, bins) == pytest.approx(value.item(), abs=1e-12)
    first, second = np.triu_indices(20, 1)
    same = y.numpy()[first] == y.numpy()[second]
    slope = np.empty(len(first))
    slope[same], slope[~same] = reverse_order.gradient(s, bins)
    pairs = (x[first] * x[second]).sum(1)
    (expected,) = torch.autograd.grad((pairs * torch.from_numpy(slope)).sum(), x)
    (theirs,) = torch.autograd.grad(build("histogram", bins=bins, normalize=False)(x, y), x)
    torch.testing.assert_close(theirs, expected, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("bins", [2, 11, 101])
def test_derivatives(bins):
    s = random(2)
    exact = reverse_order.differences(s, bins)
    for printed in (False, True):
        found = reverse_order.gradient(s, bins, printed)
        errors = [np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, exact, strict=True)]
        assert max(errors) > 0.1 if printed else max(errors) < 1e-5


def test_slopes_by_the_histogram_entries():
    """dL/dh by differences, with h+ and h- free."""
    s, bins, step = random(3), 11, 1e-6
    h = [reverse_order.histogram(values, bins) for values in s]
    for which, slope in enumerate(reverse_order.slopes(s, bins)):
        for r in range(bins):
            values = []
            for sign in (1, -1):
                moved = [entry.copy() for entry in h]
                moved[which][r] += sign * step
                values.append(moved[1] @ moved[0].cumsum())
            assert slope[r] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("spread", [3.0, 1.5])
def test_the_bias_is_half_a_step_times_the_density(spread):
    s = similarity_laws.clustered(spread, classes=24, seed=1)
    p, density = reverse_order.exact(s), reverse_order.density(s)
    biases = []
    for bins in (51, 101, 201, 401):
        bias = reverse_order.loss(s, bins) - p
        assert bias == pytest.approx(density / (bins - 1), rel=0.15)
        biases.append(bias)
        margin = reverse_order.with_margin(s, 1 / (bins - 1))
        assert reverse_order.loss(s, bins) == pytest.approx(margin, abs=0.1 * bias)
    assert biases == sorted(biases, reverse=True)


def test_verdicts():
    found = {v.claim: v for v in HistogramEstimate().verdicts()}
    assert {claim: v.verdict for claim, v in found.items()} == {
        "histogram-reverse-order": "confirmed",
        "histogram-all-quadruplets": "confirmed",
        "histogram-derivatives": "refuted",
    }
    assert "margin" in found["histogram-reverse-order"].corrected
    assert found["histogram-derivatives"].corrected


def test_a_loss_that_does_not_converge_is_refuted(monkeypatch):
    rows = tuple(row | {"bias": 0.1} for row in histogram_verdicts.rows())
    monkeypatch.setattr(histogram_verdicts, "rows", lambda: rows)
    assert histogram_verdicts.estimate().verdict == "refuted"
