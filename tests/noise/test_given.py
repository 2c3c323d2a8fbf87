"""Labels as given: nothing is added, and the rate is counted."""

import numpy as np
import pytest

from dml.config import NoiseSection
from dml.noise import Given

LABELS = np.array([0, 0, 1, 1, 2, 2, 7, 7])
GIVEN = np.array([0, 1, 1, 1, 2, 0, -1, 7])


def test_what_was_given_is_observed():
    record = Given(rate=2 / 7).corrupt(LABELS, seed=3, given=GIVEN)
    assert record.observed.tolist() == GIVEN.tolist()
    assert record.flipped.nonzero()[0].tolist() == [1, 5]


@pytest.mark.parametrize("given", [None, GIVEN[:-1], GIVEN.astype(float)])
def test_labels_that_do_not_fit(given):
    with pytest.raises(ValueError, match="noise 'given': "):
        Given().corrupt(LABELS, 0, given=given)


def test_a_study_states_one_rate():
    assert NoiseSection(name="given", rates=[0.4]).by_given
    assert not NoiseSection(name="uniform", rates=[0.1, 0.4]).by_given
    with pytest.raises(ValueError, match="its rate is counted, so there is one"):
        NoiseSection(name="given", rates=[0.1, 0.4])
