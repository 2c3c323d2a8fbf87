"""Ordered parallel work, and errors while a source's images are listed."""

import struct
import threading

import numpy as np
import pytest
from small_archives import quiet

from dml.data import DataError
from dml.data.packing.listing import CHUNK, list_images, ordered
from dml.data.sources._files import SourceDefaults


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


class Broken(SourceDefaults):
    """A source that fails after its first image."""

    version, name, options = 1, "broken", {}

    def __init__(self, error, image=None):
        self.error, self.image = error, image

    def images(self, raw):
        yield {"image": np.zeros((4, 4), np.uint8), "fine": 0, "path": "0.png"}
        if self.error is not None:
            raise self.error
        yield {"image": self.image, "fine": 0, "path": "1.png"}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "error",
    [
        KeyError("label"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        struct.error("unpack requires 4 bytes"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_error_about_raw_files_becomes_a_data_error(error, workers, tmp_path):
    with pytest.raises(DataError, match=r"broken: .*after 1 images: ") as raised:
        list_images(Broken(error), tmp_path, workers, quiet)
    assert f"{type(error).__name__}: {error}" in str(raised.value)
    assert raised.value.__cause__ is error
