"""Claims 1 and 2 for many samples: against the exact risks of whole scenes, and the proofs' M."""

import pytest

from papers.eps.theory import collapse, crossing, expected_risk


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("p", [0.6, 0.9])
def test_the_advantage_is_that_of_the_first_groups_anchors(groups, p):
    n = 8 * groups
    labels = collapse.label_probabilities(n, groups, p)
    scenes = collapse.collapsed(n, groups, 1.0), collapse.two_modes(n, groups, 1.0)
    f1, f2 = (expected_risk.triplet(s.distances, labels, 1.0, True, s.order) * n * (n - 2) for s in scenes)
    assert crossing.advantage(n, groups, p, "triplet") * n / groups == pytest.approx(f1 - f2)
    f1, f2 = (expected_risk.margin(s.distances, labels, 1.0, 0.7, True, s.order) * n * (n - 1) for s in scenes)
    assert crossing.advantage(n, groups, p, "margin", beta=0.7) * n / groups == pytest.approx(f1 - f2)


@pytest.mark.parametrize("p", [0.55, 0.6, 0.8, 0.95])
def test_two_labels(p):
    """Triplet: not yet at 8 samples, surely at 16. Margin: from 8."""
    assert crossing.advantage(8, 2, p, "triplet") < 0 < crossing.advantage(16, 2, p, "triplet")
    assert crossing.crossing(2, p, "triplet", 200) == 12 <= crossing.proven_for_triplet(2, p)
    assert crossing.crossing(2, p, "margin", 200) == 8 <= crossing.proven_for_margin(2, p)
    for beta in (-0.9, 0.0, 2.0):
        assert crossing.crossing(2, p, "margin", 200, beta=beta) is not None
    # With beta = -alpha no negative of the class has loss, and a second mode only makes positives farther.
    assert all(crossing.advantage(n, 2, p, "margin", beta=-1.0) < 0 for n in (8, 16, 32))
