"""Written completely or not at all, and never over a user's own files."""

import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from made_source import Made, arrays, packed_bytes
from small_archives import quiet

from dml import files
from dml.data import DataError
from dml.data.packing import open_packed, pack
from dml.data.packing.packer import ProgressLine

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("there", ["photo.jpg", "manifest.json", "images.npy", "a/photo.jpg"])
def test_a_users_folder_is_kept(there, tmp_path):
    path = tmp_path / "out" / there
    path.parent.mkdir(parents=True)
    path.write_text('{"name": "an app"}')
    with pytest.raises(DataError, match=rf"expected a new or empty folder, .*found {there.split('/')[0]}: nothing is"):
        pack(Made(arrays(5)), tmp_path / "raw", tmp_path / "out", report=quiet)
    assert path.read_text() == '{"name": "an app"}'


def test_a_users_file_is_kept(tmp_path):
    (tmp_path / "out").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("out", "link"):
        with pytest.raises(DataError, match="found a file"):
            pack(Made(arrays(5)), tmp_path / "raw", tmp_path / name, report=quiet)
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("out", ["data/raw", "data/images", "data", "data/raw/../images", "link"])
def test_the_sources_own_files_are_kept(out, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    source = Made(arrays(5))
    source.root = str(tmp_path / "data" / "images")
    with pytest.raises(DataError, match=r"out is .*, which would replace the (raw folder|root) "):
        pack(source, tmp_path / "data" / "raw", tmp_path / out, report=quiet)
    assert list((tmp_path / "data").iterdir()) == []


HERE = Path(__file__).parents[1]


class Stop(Exception):
    pass


@pytest.mark.parametrize("where", ["__call__", "write_json", "sync"])
def test_a_failure_leaves_the_old_folder(where, tmp_path, monkeypatch):
    pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    before = packed_bytes(tmp_path / "out")

    def fail(*arguments):
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(ProgressLine if where == "__call__" else files, where, fail)
        with pytest.raises(Stop):
            pack(Made(arrays(9)), tmp_path, tmp_path / "out", 4, report=quiet)
    assert packed_bytes(tmp_path / "out") == before
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.lock"}


def test_a_killed_process_leaves_nothing_that_looks_complete_and_the_next_one_cleans_up(tmp_path):
    script = textwrap.dedent(f"""
        import os, sys
        sys.path.insert(0, {str(HERE)!r})
        from pathlib import Path
        from made_source import Made, arrays
        from dml.data.packing import pack
        from dml.data.packing.packer import ProgressLine
        def die(self, count):
            if self.total and count == 3:
                os.kill(os.getpid(), 9)
        ProgressLine.__call__ = die
        pack(Made(arrays(5)), Path({str(tmp_path / "raw")!r}), Path({str(tmp_path / "out")!r}))
    """)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.glob(".out.new-*"))) == 1
    with pytest.raises(DataError, match="no packed dataset here"):
        open_packed(tmp_path / "out")
    pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.lock"}


def test_two_at_once_pack_once(tmp_path):
    class Slow(Made):
        def images(self, raw):
            for record in super().images(raw):
                time.sleep(0.01)
                yield record

    lines, images = [], arrays(20)
    arguments = (Slow(images), tmp_path / "raw", tmp_path / "out")
    threads = [threading.Thread(target=pack, args=arguments, kwargs={"report": lines.append}) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lines == [
        f"{tmp_path / 'out'}: waiting for another process",
        f"{tmp_path / 'out'}: 20 images packed, 0 skipped",
        f"{tmp_path / 'out'}: packed already (20 images)",
    ]
    np.testing.assert_array_equal(open_packed(tmp_path / "out").images[:, :, :, 0], images)
