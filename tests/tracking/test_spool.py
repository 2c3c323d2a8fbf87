import os

import pytest

from dml.tracking.spool import Spool


def drain(spool):
    taken = []
    while (record := spool.peek(timeout=0.0)) is not None:
        taken.append(record["n"])
        spool.sent()
    return taken


def test_records_come_in_order_and_the_file_goes(tmp_path):
    spool = Spool(tmp_path / "a.jsonl")
    for n in range(5):
        spool.append({"n": n})
    assert len(spool) == 5
    assert drain(spool) == list(range(5))
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_sent_outlives_the_process(tmp_path):
    spool = Spool(tmp_path / "a.jsonl")
    for n in range(5):
        spool.append({"n": n})
    spool.sent()
    spool.sent()
    again = Spool(tmp_path / "a.jsonl")  # the first is not closed: its process was killed
    again.append({"n": 5})
    assert drain(again) == [2, 3, 4, 5]
    assert drain(Spool(tmp_path / "a.jsonl")) == []


def test_a_crash_while_the_file_is_emptied_loses_no_record(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    spool = Spool(path)
    spool.append({"n": 0})
    spool.append({"n": 1})
    spool.sent()

    def crash(*paths):
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", crash)
        with pytest.raises(OSError, match="killed"):
            spool.sent()
    Spool(path).append({"n": 2})  # the next process is killed too
    assert drain(Spool(path)) == [1, 2]


def test_a_line_cut_short_is_dropped(tmp_path):
    Spool(tmp_path / "a.jsonl").append({"n": 0})
    with open(tmp_path / "a.jsonl", "ab") as file:
        file.write(b'{"n": 1')
    spool = Spool(tmp_path / "a.jsonl")
    spool.append({"n": 2})
    assert drain(spool) == [0, 2]
