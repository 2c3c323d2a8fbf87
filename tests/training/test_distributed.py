"""Two processes with half the batch each give the loss and the parameters of one process on the whole batch."""

import pytest
import torch

from dml.training import checkpoint
from dml.training.distributed import DistributedTraining
from dml.training.loop import Training

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("loss", ["contrastive", "margin", "proxy_nca"])
def test_two_gloo_ranks_equal_one_process_after_20_steps(own_parts, make_spec, data_root, tmp_path, finish, loss):
    policies = (None,) if loss == "proxy_nca" else ("all", "hard")
    settings = {"backbone": "training_parts.Backbone", "backbone_settings": {}, "steps": 20}
    evaluation = {"every": 20, "metrics": ("recall@1",), "sets": ("seen",)}
    alone = finish(Training(make_spec(loss, *policies, evaluation=evaluation, **settings), data_root, tmp_path / "one"))
    spec = make_spec(loss, *policies, evaluation=evaluation, devices=2, **settings)
    two = DistributedTraining(spec, data_root, tmp_path / "two")
    try:
        two.advance()
        assert two.finished
        result = two.result()
    finally:
        two.close()

    one_state, two_state = (checkpoint.load(tmp_path / name / "checkpoint" / "last.pt") for name in ("one", "two"))
    for part in ("model", "loss"):
        for name, value in one_state[part].items():
            torch.testing.assert_close(two_state[part][name], value, rtol=1e-4, atol=1e-5)
    assert result.diagnostics["loss"] == pytest.approx(alone.result().diagnostics["loss"], rel=1e-5)


def test_an_error_in_a_process_is_raised_with_its_traceback(make_spec, data_root, tmp_path):
    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*ValueError: .*16 images.* 3 devices"):
        DistributedTraining(make_spec(devices=3), data_root, tmp_path)
