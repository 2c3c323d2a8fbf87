"""Random arcs, and LoOp's gain over the nearest ends."""

import numpy as np
import pytest
import torch

from dml.losses import geodesic
from papers.loop.theory import gain as arc_gain
from papers.loop.theory import random_arcs


@pytest.mark.parametrize("size", [7, 40])
def test_few_coordinates_have_the_inner_products_of_many(size):
    """Mean and variance of the entries of a Wishart matrix: D and 2 D on its diagonal, 0 and D beside it."""
    x = random_arcs.gaussians(np.random.default_rng(0), 40_000, 4, size)
    assert x.shape == (4, 40_000, 4)
    gram = np.einsum("ind,jnd->nij", x, x)
    np.testing.assert_allclose(gram.mean(0), size * np.eye(4), atol=0.03 * size)
    np.testing.assert_allclose(gram.var(0), size * (1 + np.eye(4)), rtol=0.05)


def test_gain_is_that_of_the_losses():
    arcs = random_arcs.uniform(np.random.default_rng(1), 200, 4)
    ends = [torch.from_numpy(end) for end in arcs]
    corners = torch.stack([(x - y).norm(dim=1) for x in ends[:2] for y in ends[2:]]).amin(0)
    found = geodesic.arcs(*ends)
    gains = corners - found.distance.diagonal()
    ours = arc_gain.gain(arcs)
    assert ours.mean == pytest.approx(gains.mean().item(), abs=1e-7)
    assert ours.interior == pytest.approx((found.case.diagonal() == 0).double().mean().item())
    assert ours.corners == pytest.approx((found.case.diagonal() >= 5).double().mean().item())
