"""What a study tells apart: simulations with known truth."""

import numpy as np
import pytest
from synthetic import KEY, only_confirmed

from dml.report.sections import precision as section

pytestmark = pytest.mark.slow


@pytest.fixture
def results(synthetic, loaded):
    """Easy positives are 20 points better; two negatives are equal but for noise."""

    def made(gain):
        def alter(frame):
            draw = np.random.default_rng(0)
            frame = only_confirmed(frame)
            frame[KEY] = 0.5 + 0.01 * draw.standard_normal(len(frame)) + gain * (frame["positives"] == "easy")
            return frame

        study = synthetic.study(seeds=list(range(8)), noise=synthetic.noise([0.0, 0.4]), losses=["triplet"])
        return loaded(study, alter)

    return made


def test_the_best_methods_are_a_set_of_those_that_are_not_told_apart(results):
    found = section.best_sets(results(0.2)).frame
    assert found["size"].tolist() == [2, 2]
    assert all(text.count("easy") == 2 and "random +" not in text for text in found["best"])
    equal = section.best_sets(results(0.0)).frame
    assert (equal["size"] >= 3).all()
