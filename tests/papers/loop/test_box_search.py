"""The search over a rectangle on functions whose least value is known."""

import numpy as np

from papers.loop.theory import box_search

SIDES = np.full(3, 2.0)


def test_a_bowl_inside_at_an_edge_and_in_a_corner():
    centre = np.array([[0.7, 1.3], [-1.0, 0.4], [3.0, 5.0]])

    def bowl(s, t):
        return (s - centre[:, :1]) ** 2 + 2 * (t - centre[:, 1:]) ** 2

    expected = [0, 1, 1 + 2 * 9]
    np.testing.assert_allclose(box_search.minimum(bowl, SIDES, SIDES), expected, atol=1e-12)
