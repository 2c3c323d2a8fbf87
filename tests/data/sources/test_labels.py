"""Labels as numbers and names: which values are numbers, whatever file they come from."""

import pytest

from dml.data import DataError
from dml.data.sources._table import labels
from dml.tables import LARGEST, integer


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


def test_a_number_that_a_table_may_have_rounded_is_refused():
    assert integer(LARGEST - 1, "fine", "row 2") == LARGEST - 1
    with pytest.raises(DataError, match=f"row 2: fine is {LARGEST}, expected an integer"):
        integer(LARGEST, "fine", "row 2")
