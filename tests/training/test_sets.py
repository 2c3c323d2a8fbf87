"""Evaluation sets without images, or without two of one class, are refused before anything trains."""

import numpy as np
import pandas as pd
import pytest

from dml.training.data import check_pairs


@pytest.mark.parametrize(
    ("roles", "labels", "name", "paired"),
    [
        (["train", "train", "test", "test"], [0, 0, 1, 2], "test", False),
        (["train", "train", "test", "test"], [0, 1, 2, 2], "test", True),
        (["train", "seen", "seen"], [0, 0, 1], "seen", False),
        (["train", "train", "test", "test"], [0, 1, 2, 2], "validation", False),
        (["train", "query", "query", "gallery"], [0, 1, 1, 2], "test", False),
        (["train", "query", "query", "gallery"], [0, 1, 2, 2], "test", True),
    ],
)
def test_sets_in_which_a_query_has_a_match(roles, labels, name, paired):
    rows = np.arange(len(roles))[::-1]  # a split's rows may be in any order
    tune = ["validation" if role == "train" else "unused" for role in roles]
    split = pd.DataFrame({"index": rows, "final": roles[::-1], "tune": tune[::-1]})
    if paired:
        assert check_pairs(split, np.array(labels), name, "birds") is None
        return
    with pytest.raises(ValueError, match=rf"^dataset 'birds': .* in the evaluation set '{name}' .* two images"):
        check_pairs(split, np.array(labels), name, "birds")
