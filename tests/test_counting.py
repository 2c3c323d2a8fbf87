"""Numbers of things in messages."""

import pytest

from dml.counting import bytes_of, counted, size_text


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


def test_sizes_are_read_and_written_in_powers_of_1024():
    assert [bytes_of(size) for size in ("4 GB", "256MB", "1.5 kb", 1000, "7")] == [4 << 30, 256 << 20, 1536, 1000, 7]
    assert [size_text(size) for size in (4 << 30, 300 << 20, 1536)] == ["4 GB", "300 MB", "1.5 KB"]


@pytest.mark.parametrize("size", ["", "GB", "4 apples", "-1 GB", 0, "0 MB", True, "inf GB", "nan"])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(ValueError, match="such as '256 MB'"):
        bytes_of(size)
