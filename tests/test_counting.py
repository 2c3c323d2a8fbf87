"""Numbers of things in messages."""

import pytest

from dml.counting import counted, size_text


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


def test_sizes_are_written_in_powers_of_1024():
    assert [size_text(size) for size in (4 << 30, 300 << 20, 1536)] == ["4 GB", "300 MB", "1.5 KB"]
