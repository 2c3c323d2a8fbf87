"""Numbers of things in messages."""

import pytest

from dml.counting import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "class", "1 class"),
        (0, "class", "0 classes"),
        (2, "exact copy", "2 exact copies"),
        (3, "image", "3 images"),
        (1797, "image", "1,797 images"),
    ],
)
def test_one_has_no_plural(number, noun, text):
    assert counted(number, noun) == text
