"""Atomic files: complete or absent, and locks."""

import errno
import json
import os
from pathlib import Path

import pytest

from dml import files


def test_json_has_sorted_keys_and_equal_contents_give_equal_bytes(tmp_path):
    files.write_json(tmp_path / "deep" / "a.json", {"b": 1, "a": [1.5, None]})
    files.write_json(tmp_path / "b.json", {"a": [1.5, None], "b": 1})
    content = (tmp_path / "deep" / "a.json").read_bytes()
    assert content == (tmp_path / "b.json").read_bytes()
    assert json.loads(content) == files.read_json(tmp_path / "b.json") == {"a": [1.5, None], "b": 1}


def test_a_failure_keeps_the_old_file_and_leaves_no_other(tmp_path):
    files.write_text(tmp_path / "a.txt", "old")

    def fail():
        with files.replacing(tmp_path / "a.txt") as temporary:
            temporary.write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    """Python's own error has no name, and libraries that write have errors of their own."""
    path = tmp_path / "a.json"
    path.with_name(f".a.json.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(OSError, match=rf"No space left on device: '{path}'"):
        files.write_text(path, "text" * 10**5)
    with pytest.raises(OSError, match=rf"No space left on device: '{path}'") as caught, files.replacing(path):
        raise RuntimeError("I/O error: No space left on device (os error 28)")
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_finished_file_replaces_another(tmp_path):
    (tmp_path / "a.part").write_text("new")
    (tmp_path / "a.txt").write_text("old")
    files.move(tmp_path / "a.part", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_lock_is_exclusive_and_names_its_holder(tmp_path):
    with files.locked(tmp_path / "a.lock"):
        with pytest.raises(files.Locked, match=r"a\.lock") as raised, files.locked(tmp_path / "a.lock", wait=False):
            pass
        assert raised.value.holder.isdecimal()
    with files.locked(tmp_path / "a.lock", wait=False):
        pass
