"""Ordered parallel work, and errors while a source's images are listed."""

import threading

import pytest

from dml.data.packing.listing import CHUNK, ordered


class Stop(Exception):
    pass


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


def test_a_stream_runs_on_several_threads_and_stops_at_an_error():
    names = set()
    barrier = threading.Barrier(2, timeout=20)

    def work(number):
        names.add(threading.current_thread().name)
        if number in (0, CHUNK):
            barrier.wait()
        if number == 2 * CHUNK:
            raise Stop
        return number

    with pytest.raises(Stop):
        list(ordered(work, iter(range(100 * CHUNK)), 2))
    assert len(names) == 2
