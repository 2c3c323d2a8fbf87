"""Checkpoints are written whole or not at all, and loading one runs no code that it contains."""

import os
import pickle

import pytest
import torch

from dml.training import resuming


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_a_full_disk_is_said(tmp_path):
    """torch's own writer raises a RuntimeError that does not say so."""
    (tmp_path / f".last.pt.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '\S+/last\.pt'"):
        resuming.save(tmp_path / "last.pt", {"w": torch.zeros(10**5)})
    assert list(tmp_path.iterdir()) == []


def test_a_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "last.pt"
    resuming.save(path, {"step": 1})

    def crash(state, file):
        file.write(b"half")
        raise RuntimeError("crash")

    monkeypatch.setattr(torch, "save", crash)
    with pytest.raises(RuntimeError, match="crash"):
        resuming.save(path, {"step": 2})
    assert resuming.load(path) == {"step": 1}
    assert os.listdir(tmp_path) == ["last.pt"]


class Malicious:
    def __reduce__(self):
        return (os.system, ("touch pwned",))


@pytest.mark.parametrize("save", [lambda o, p: torch.save(o, p), lambda o, p: p.write_bytes(pickle.dumps(o))])
def test_a_checkpoint_that_contains_code_is_refused(tmp_path, monkeypatch, save):
    monkeypatch.chdir(tmp_path)
    save({"step": Malicious()}, tmp_path / "evil.pt")
    with pytest.raises(ValueError, match=r"evil\.pt: not a checkpoint"):
        resuming.load(tmp_path / "evil.pt")
    assert not (tmp_path / "pwned").exists()
