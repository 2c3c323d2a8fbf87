"""The nine cases between segments against a search, a convex solver and the losses' implementation."""

import numpy as np
import pytest
import torch

from dml.losses import geodesic
from papers.loop.theory import segments


@pytest.mark.parametrize("size", [1, 2, 3, 16])
def test_random_segments(size):
    ends = segments.random(np.random.default_rng(size), 500, size)
    distance, case = segments.nine_cases(ends)
    np.testing.assert_allclose(distance**2, segments.searched(ends) ** 2, atol=1e-10)
    if size == 3:
        assert (np.bincount(case, minlength=9) > 0).all()


def test_the_same_as_the_losses():
    ends = segments.random(np.random.default_rng(3), 50, 5)
    theirs = geodesic.segments(*map(torch.from_numpy, ends))
    distance, case = segments.nine_cases(ends)
    np.testing.assert_allclose(distance, theirs.distance.diagonal().numpy(), atol=1e-7)
    np.testing.assert_array_equal(case, theirs.case.diagonal().numpy())
