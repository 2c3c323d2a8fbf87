"""Labels as numbers and names: which values are numbers, whatever file they come from."""

import pytest

from dml.data.sources._table import labels


@pytest.mark.parametrize(
    ("values", "numbers", "names"),
    [
        ([True, False], [1, 0], ["True", "False"]),  # a Parquet column may be of booleans
        ([7, "12", 3.0], [7, 12, 3], ["7", "12", "3"]),
        ([7, "012"], [1, 0], ["7", "012"]),
        ([7, "a"], [0, 1], ["7", "a"]),
    ],
)
def test_labels_are_numbers_if_all_of_them_are(values, numbers, names):
    assert labels(values, "fine", ["row"] * len(values)) == (numbers, names)
