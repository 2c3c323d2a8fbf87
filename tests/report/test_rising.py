"""Whether a curve still rises at its end, on curves of known shape."""

import numpy as np
import pytest

from dml.report.analysis.flags import continued, still_rises

STEPS = np.linspace(0, 1, 11)


def curve(scores, steps=STEPS):
    return list(zip((1000 * np.asarray(steps)).tolist(), np.asarray(scores, dtype=float).tolist(), strict=True))


SHAPES = {
    "flat": (np.full(11, 0.6), False),
    "linear": (0.2 + 0.5 * STEPS, True),
    "logarithmic": (0.3 + 0.1 * np.log(1 + 9 * STEPS), True),  # by 3.7% in the last fifth
    "slowly logarithmic": (0.5 + 0.04 * np.log(1 + 9 * STEPS), False),  # by 1.3%
    "saturated": (0.6 * (1 - np.exp(-6 * STEPS)), False),
    "peaked, then falling": (0.6 - (STEPS - 0.5) ** 2, False),
    "fallen, then rising": (0.4 + (STEPS - 0.5) ** 2, True),
    "falling": (0.6 - 0.2 * STEPS, False),
    "up only at the last evaluation": (np.where(STEPS == 1, 0.7, 0.5), True),
    "up, then level in the last fifth": (np.where(STEPS >= 0.8, 0.7, 0.5), False),
    "up and down": (np.where(np.arange(11) % 2, 0.52, 0.50), False),
    "nothing learned": (np.zeros(11), False),
}


@pytest.mark.parametrize("level", [0.001, 0.03, 0.3, 0.99])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_rises_or_not_at_any_level(shape, level):
    """Relative to the score: near 0 and near 1 as in between."""
    scores, rises = SHAPES[shape]
    assert still_rises(curve(scores * level / 0.7)) is rises


@pytest.mark.parametrize("evaluations", [11, 21, 101])
@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.0, 0.0), (0.12, 0.8, 1.0)])
def test_noise_seldom_hides_a_rise_and_seldom_makes_one(evaluations, share, least, most):
    """Noise of 2% of the score, on a flat curve and on one that rises by 12% in its last fifth: 300 of each."""
    steps = np.linspace(0, 1, evaluations)
    trend = 1 + share * (steps - 1) / 0.2
    noise = [1 + 0.02 * np.random.default_rng(seed).normal(size=evaluations) for seed in range(300)]
    found = [still_rises(curve(trend * 0.6 * each, steps)) for each in noise]
    assert least <= np.mean(found) <= max(most, 0.1)


@pytest.mark.parametrize(
    ("later", "rises"), [((0.5, 0.5, 0.5), False), ((0.45, 0.4, 0.35), False), ((0.55, 0.6, 0.65), True), ((), True)]
)
def test_a_curve_that_ends_early_is_judged_by_where_the_whole_one_goes(later, rises):
    """It ends at its highest slope, after 0.4 of the steps; without the rest it is all that is known."""
    early = curve([0.2, 0.4, 0.6], [0, 0.2, 0.4])
    whole = curve([0.1, 0.3, 0.5, *later], [0, 0.2, 0.4, 0.6, 0.8, 1.0]) if later else []
    joined = continued(early, whole)
    assert joined[:3] == early
    assert [score for _, score in joined[3:]] == pytest.approx([score * 0.6 / 0.5 for score in later])
    assert still_rises(joined) is rises
