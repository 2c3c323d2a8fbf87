"""Evaluation sets without images are refused before anything trains, with those that have some."""

import pandas as pd
import pytest

from dml.training.data import check_sets


@pytest.mark.parametrize(
    ("roles", "sets", "expected"),
    [
        (["train", "seen"], ["seen", "test"], r"names 'test', .* Choices: seen, train, as in .*\{sets: \[seen\]\}"),
        (["train", "test"], ["seen"], r"names 'seen', .* Roles of its images: test, train\. Choices: test, train, as"),
        (["train", "query", "gallery"], ["test", "train"], None),
        (["train", "seen", "test"], ["test", "seen", "train"], None),
    ],
)
def test_sets_that_have_images(roles, sets, expected):
    split = pd.DataFrame({"index": range(len(roles)), "final": roles, "tune": "unused"})
    if expected is None:
        assert check_sets(split, sets, "birds") is None
        return
    with pytest.raises(ValueError, match=expected) as raised:
        check_sets(split, sets, "birds")
    assert str(raised.value).startswith("dataset 'birds': evaluation.sets")
