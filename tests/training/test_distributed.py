"""Two processes with half the batch each give the loss and the parameters of one process on the whole batch."""

import pytest
import torch

from dml.training.distributed import DistributedTraining
from dml.training.loop import Training


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["contrastive", "margin", "proxy_nca"])
def test_two_gloo_ranks_equal_one_process_after_20_steps(make_spec, data_root, tmp_path, monkeypatch, loss):
    plain = tmp_path / "tests_plain.py"
    plain.write_text(
        "from torch import nn\n"
        "class Plain(nn.Sequential):\n"
        "    features = 16\n"
        "    def __init__(self, channels, image_size):\n"
        "        super().__init__(nn.Flatten(), nn.Linear(channels * image_size**2, 16), nn.Tanh())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    policies = (None, None) if loss == "proxy_nca" else ("all", "hard")
    settings = {"backbone": "tests_plain.Plain", "backbone_settings": {}, "steps": 20}
    evaluation = {"every": 20, "metrics": ["recall@1"], "sets": ["seen"]}

    alone = Training(make_spec(loss, *policies, evaluation=evaluation, **settings), data_root, tmp_path / "one")
    alone.advance()
    spec = make_spec(loss, *policies, evaluation=evaluation, devices=2, **settings)
    two = DistributedTraining(spec, data_root, tmp_path / "two")
    try:
        two.advance()
        assert two.finished
        result = two.result()
    finally:
        two.close()

    def saved(folder):
        return torch.load(folder / "checkpoint" / "last.pt", weights_only=True)

    one_state, two_state = saved(tmp_path / "one"), saved(tmp_path / "two")
    for part in ("model", "loss"):
        for name, value in one_state[part].items():
            torch.testing.assert_close(two_state[part][name], value, rtol=1e-4, atol=1e-5)
    assert result.diagnostics["loss"] == pytest.approx(alone.result().diagnostics["loss"], rel=1e-5)


@pytest.mark.slow
def test_an_error_in_a_process_is_told_with_its_traceback(make_spec, data_root, tmp_path):
    spec = make_spec(devices=3)
    with pytest.raises(RuntimeError, match="a batch of 16 images cannot be shared equally by 3 devices"):
        DistributedTraining(spec, data_root, tmp_path)
