"""The labels that every noise model gives for a seed."""

import numpy as np
import pytest

from dml import discovery

# Settings that change the labels but have no default to try. A model that takes one is tried with it too.
SETTINGS = {"pairs": [[0, 1], [1, 2], [4, 0]], "neighbours": 1, "size": 4}


@pytest.mark.parametrize("name", discovery.names("dml.noise"))
def test_labels(name, golden, tools):
    part = discovery.find("dml.noise", name)
    labels = np.random.default_rng(3).permutation(np.repeat(np.arange(6), [12, 9, 10, 7, 2, 20]))
    values = {"true": labels}
    for rate, seed in ((0.1, 0), (0.45, 1)):
        values[f"rate {rate}, seed {seed}"] = tools.corrupt(name, labels, rate, seed).observed
    for setting in sorted(set(SETTINGS) & set(discovery.settings_of(part))):
        found = tools.corrupt(name, labels, 0.3, 2, **{setting: SETTINGS[setting]})
        values[f"{setting}={SETTINGS[setting]}"] = found.observed
    for key in set(part.context) - {"phase", "index", "paths"}:
        try:
            values[f"without {key}"] = tools.corrupt(name, labels, 0.3, 2, left_out=[key]).observed
        except ValueError as error:
            values[f"without {key}"] = type(error).__name__
    golden.check("noise", name, part, values)
