"""The topline: fewer samples, all of them right."""

import numpy as np

from dml import noise


def test_leaves_out_exactly_the_share_and_nothing_is_wrong():
    labels = np.arange(1001) % 7
    observed, flipped = noise.build("subset", rate=0.3).corrupt(labels, seed=0)
    assert (observed < 0).sum() == 300
    assert not flipped.any()
    assert (observed[observed >= 0] == labels[observed >= 0]).all()


def test_leaves_out_what_uniform_flips():
    labels = np.arange(1001) % 7
    subset = noise.build("subset", rate=0.3).corrupt(labels, seed=2)
    uniform = noise.build("uniform", rate=0.3).corrupt(labels, seed=2)
    assert ((subset.observed < 0) == uniform.flipped).all()
