"""A trial that several processes share gives the losses, scores and parameters of one process on the whole batch."""

import itertools
from dataclasses import replace

import pytest
import torch
from processes import train

from dml.training.collectives import synchronised
from dml.training.loop import Training
from dml.training.resuming import RandomStreams
from dml.types import FilterSpec

pytestmark = pytest.mark.slow

PLAIN = {"backbone": "training_parts.Backbone", "backbone_settings": {}, "steps": 20}
EVALUATED = {"every": 10, "metrics": ("recall@1",), "sets": ("seen",)}


def assert_equal(found, alone, state):
    """To 1e-6: the sums of gradients are in another order."""
    for one, other in zip(found.curve, alone.result().curve, strict=True):
        assert one.scores == pytest.approx(other.scores, rel=1e-6)
    assert found.diagnostics["loss"] == pytest.approx(alone.result().diagnostics["loss"], rel=1e-6)
    for name, value in alone.model.state_dict().items():
        torch.testing.assert_close(state["model"][name], value, rtol=1e-4, atol=1e-6)


def assert_same(states):
    """All processes have the same network, loss and filter, bit for bit."""
    for one, other in itertools.pairwise(states):
        assert one.keys() == other.keys()
        for part in one:
            torch.testing.assert_close(one[part], other[part], rtol=0, atol=0)


@pytest.mark.parametrize(("loss", "size"), [("margin", 2), ("proxy_nca", 4), ("contrastive", 1)])
def test_processes_equal_one_after_20_steps(own_parts, make_spec, data_root, tmp_path, finish, loss, size):
    policies = (None,) if loss == "proxy_nca" else ("all", "hard")
    spec = make_spec(loss, *policies, evaluation=EVALUATED, **PLAIN)
    alone = finish(Training(spec, data_root, tmp_path / "one"))
    shared = replace(spec, training=replace(spec.training, workers=size))
    found, states = train(shared, data_root, tmp_path / "shared", size)
    assert_equal(found, alone, states[0])
    assert_same(states)


def test_processes_agree_on_what_a_filter_and_a_loss_remember(own_parts, make_spec, data_root, tmp_path, finish):
    """What the filter leaves out, the loss does not remember."""
    memory = {"memory": {"size": 60, "warm_up": 3}}
    spec = make_spec("contrastive", "all", "hard", loss_settings=memory, evaluation=EVALUATED, **PLAIN)
    prism = FilterSpec("prism", {"rate": 0.3, "memory": 100, "window": 3, "warm_up": 2})
    spec = replace(spec, filter=prism)
    alone = finish(Training(spec, data_root, tmp_path / "one"))
    found, states = train(replace(spec, training=replace(spec.training, workers=2)), data_root, tmp_path / "shared", 2)
    assert_equal(found, alone, states[0])
    assert_same(states)
    kept = found.diagnostics["kept_share"]
    assert kept == pytest.approx(alone.result().diagnostics["kept_share"], abs=1e-9)
    assert kept < 1
    held = states[1]["loss"]["memory._extra_state"]
    assert held["steps"] == 20
    assert 32 <= round(kept * 20 * 16) - held["ring"]["written"] <= 48  # of the first three steps


def test_a_resumed_trial_of_two_processes_is_the_uninterrupted_one(own_parts, make_spec, data_root, tmp_path):
    """With random augmentation and dropout."""
    settings = {**PLAIN, "backbone_settings": {"dropout": 0.2}, "augment": "training_parts.Augment", "workers": 2}
    spec = make_spec("margin", "random", "distance_weighted", evaluation=EVALUATED, **settings)
    whole, [state, _] = train(spec, data_root, tmp_path / "whole", 2)
    train(spec, data_root, tmp_path / "resumed", 2, to=10)
    found, [resumed, _] = train(spec, data_root, tmp_path / "resumed", 2)
    assert found.curve == whole.curve
    assert_same([state, resumed])


def test_each_process_draws_its_own_dropout_and_else_the_same():
    """A loss that draws numbers draws them alike in all."""
    found = []
    for rank in range(2):
        streams = RandomStreams(0, rank, 2, torch.device("cpu"))
        with streams.as_global():
            with streams.of_process(step=3):
                dropped = torch.dropout(torch.ones(100), 0.5, train=True)
            found.append((dropped, torch.rand(3)))
    (one, alike), (other, again) = found
    assert not torch.equal(one, other)
    assert torch.equal(alike, again)


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="NCCL needs a GPU for each process: two")
def test_two_gpus_equal_one(own_parts, make_spec, data_root, tmp_path, finish):
    spec = make_spec("contrastive", "all", "all", evaluation=EVALUATED, **{**PLAIN, "optimizer": "sgd"})
    alone = finish(Training(spec, data_root, tmp_path / "one", "cuda:0"))
    shared = replace(spec, training=replace(spec.training, workers=2))
    found, _ = train(shared, data_root, tmp_path / "shared", 2, device="cuda")
    assert found.diagnostics["loss"] == pytest.approx(alone.result().diagnostics["loss"], rel=1e-5)


def test_synchronised_batch_norm_keeps_activations():
    """timm's `BatchNormAct2d` is a batch norm that also applies the activation. Evaluated, both need one process."""
    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    model = timm.create_model("tf_efficientnet_lite0", num_classes=0).eval()
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        expected = model(images)
        converted = synchronised(torch.nn.Sequential(model, torch.nn.BatchNorm1d(1280).eval()))
        found = converted[0](images)
    torch.testing.assert_close(found, expected)
    norms = [m for m in converted.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    assert norms
    assert all(isinstance(m, torch.nn.SyncBatchNorm) for m in norms)
