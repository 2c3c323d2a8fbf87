"""Ordered parallel work, and errors while a source's images are listed."""

import pytest

from dml.data.packing.listing import CHUNK, ordered


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_is_ordered_and_never_far_ahead(workers):
    taken, done = 0, []

    def items():
        nonlocal taken
        for number in range(40 * CHUNK):
            taken += 1
            yield number

    ahead = 0
    for value in ordered(lambda number: 2 * number, items(), workers):
        done.append(value)
        ahead = max(ahead, taken - len(done))
    assert done == [2 * number for number in range(40 * CHUNK)]
    assert ahead <= 2 * workers * CHUNK
