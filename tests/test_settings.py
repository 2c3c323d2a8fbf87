"""Checks of a part's settings: where each bound is, and what is no number."""

import pytest

from dml.settings import check_above, check_at_least, check_choice, check_number, check_within

NO_NUMBERS = [float("nan"), float("inf"), "1", None]


@pytest.mark.parametrize("value", [-0.1, *NO_NUMBERS])
def test_at_least(value):
    check_at_least("margin", 0, 0)
    with pytest.raises(ValueError, match=f"margin: expected a number >= 0; got {value!r}"):
        check_at_least("margin", value, 0)


@pytest.mark.parametrize("value", [0, *NO_NUMBERS])
def test_above(value):
    check_above("margin", 0.1, 0)
    with pytest.raises(ValueError, match=f"margin: expected a number > 0; got {value!r}"):
        check_above("margin", value, 0)


@pytest.mark.parametrize("value", [-0.1, 1.1, *NO_NUMBERS])
def test_within(value):
    check_within("share", 0, 0, 1)
    check_within("share", 1, 0, 1)
    with pytest.raises(ValueError, match=f"share: expected a number from 0 to 1; got {value!r}"):
        check_within("share", value, 0, 1)


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_number(value):
    check_number("epsilon", -1)
    with pytest.raises(ValueError, match=f"epsilon: expected a number; got {value!r}"):
        check_number("epsilon", value)


def test_choice():
    check_choice("distance", "squared", ("euclidean", "squared"))
    with pytest.raises(ValueError, match="distance: expected one of euclidean, squared; got 'cosine'"):
        check_choice("distance", "cosine", ("euclidean", "squared"))
