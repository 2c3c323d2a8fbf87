"""What a study tells apart: simulations with known truth."""

import numpy as np
import pandas as pd
import pytest
from synthetic import KEY, only_confirmed

from dml.report.analysis import precision
from dml.report.sections import precision as section

pytestmark = pytest.mark.slow


def scores(draw, means, seeds, spread=1.0):
    """Scores (seeds, methods) of methods with these true means; what a seed does to all alike is added."""
    own = np.asarray(means) + spread * draw.standard_normal((seeds, len(means)))
    return pd.DataFrame(own + 5 * draw.standard_normal((seeds, 1)), columns=[f"m{i}" for i in range(len(means))])


def test_the_spread_of_differences_leaves_out_what_a_seed_does_to_all_alike():
    draw = np.random.default_rng(0)
    found = [precision.spread_of(scores(draw, [0, 3, 9], 4)).points ** 2 for _ in range(2000)]
    assert np.mean(found) == pytest.approx(2.0, rel=0.05)  # the variance of a difference of two


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
