"""Checkpoints are whole or absent, and loading one runs none of its code."""

import json
import os
import pickle

import pytest
import torch

from dml.training import checkpoint


def test_what_is_saved_is_loaded(tmp_path):
    state = {"step": 3, "model": {"w": torch.arange(4.0)}, "curve": [[1, {"a": 0.5}]], "big": 2**100}
    checkpoint.save(tmp_path / "deep" / "last.pt", state)
    loaded = checkpoint.load(tmp_path / "deep" / "last.pt")
    assert torch.equal(loaded["model"].pop("w"), state["model"].pop("w"))
    assert loaded == state


def test_a_crash_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "last.pt"
    checkpoint.save(path, {"step": 1})

    def crash():
        with checkpoint.replacing(path) as temporary:
            temporary.write_bytes(b"half")
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        crash()
    assert checkpoint.load(path) == {"step": 1}
    assert os.listdir(tmp_path) == ["last.pt"]


class Malicious:
    def __reduce__(self):
        return (os.system, ("touch pwned",))


@pytest.mark.parametrize("save", [lambda o, p: torch.save(o, p), lambda o, p: p.write_bytes(pickle.dumps(o))])
def test_a_checkpoint_that_carries_code_is_refused(tmp_path, monkeypatch, save):
    monkeypatch.chdir(tmp_path)
    save({"step": Malicious()}, tmp_path / "evil.pt")
    with pytest.raises(ValueError, match=r"cannot be loaded safely|not a checkpoint"):
        checkpoint.load(tmp_path / "evil.pt")
    assert not (tmp_path / "pwned").exists()


def test_a_truncated_checkpoint_is_a_clear_error(tmp_path):
    checkpoint.save(tmp_path / "last.pt", {"model": torch.zeros(1000)})
    content = (tmp_path / "last.pt").read_bytes()
    (tmp_path / "last.pt").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"last\.pt: not a checkpoint"):
        checkpoint.load(tmp_path / "last.pt")


def test_a_model_is_weights_and_a_description(tmp_path):
    model = torch.nn.Linear(3, 2)
    checkpoint.save_model(tmp_path, model, {"network": {"width": 3}})
    weights, description = checkpoint.load_model(tmp_path)
    assert torch.equal(weights["weight"], model.weight)
    assert description == json.loads((tmp_path / "model.json").read_text()) == {"network": {"width": 3}}
