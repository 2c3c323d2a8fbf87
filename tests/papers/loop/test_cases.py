"""LoOp's nine cases against a search that uses none of its formulas, and against the losses' implementation."""

import numpy as np
import pytest
import torch

from dml.losses import geodesic
from papers.loop.theory import cases as arc_cases
from papers.loop.theory import random_arcs
from papers.loop.theory import search as arc_search


def check(arcs, tolerance=1e-8):
    found = arc_search.compare(arcs)
    assert found.above < tolerance
    assert found.below < tolerance
    assert found.attained < tolerance
    return found


@pytest.mark.parametrize("size", [2, 3, 8, 64, 512])
def test_random_arcs(size):
    found = check(random_arcs.uniform(np.random.default_rng(size), 500, size), 1e-10)
    assert (found.hits > 0).all()
    assert found.hits.sum() == found.pairs == 500


@pytest.mark.parametrize("size", [2, 3, 16])
def test_the_same_as_the_losses(size):
    arcs = random_arcs.uniform(np.random.default_rng(2), 60, size)
    ours = arc_cases.least(arc_cases.box_of(arcs))
    theirs = geodesic.arcs(*map(torch.from_numpy, arcs))
    np.testing.assert_allclose(ours.distance, theirs.distance.diagonal().numpy(), atol=1e-7)
    if size > 2:  # in the plane overlapping arcs touch at many points, which are of several cases
        np.testing.assert_array_equal(ours.case, theirs.case.diagonal().numpy())
