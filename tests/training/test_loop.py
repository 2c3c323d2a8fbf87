"""A trial: it learns, reports, and raises when it cannot continue."""

import math
from dataclasses import replace

import pytest
import torch

from dml.training.loop import Training
from dml.training.model_files import load_model
from dml.training.process import TrainingError
from dml.types import BatchSpec

pytestmark = pytest.mark.slow


def test_a_trial_trains_and_evaluates_as_its_spec_says(make_spec, data_root, tmp_path, finish):
    result = finish(Training(make_spec(steps=10), data_root, tmp_path)).result()
    assert [p.step for p in result.curve] == [4, 8, 10]
    assert set(result.scores) == {f"{s}/fine/{m}" for s in ("test", "seen") for m in ("recall@1", "nmi")}
    assert all(0 <= v <= 1 for v in result.scores.values())
    assert {"loss", "active_share", "tuples", "dropped_anchors", "images_per_second"} <= set(result.diagnostics)
    assert result.diagnostics["training_classes"] == 2, "even and odd"


@pytest.mark.parametrize("settings", [{}, {"loss": "proxy_nca", "positives": None}, {"evaluation": {"every": None}}])
def test_no_steps_are_the_untrained_network(make_spec, data_root, tmp_path, finish, settings):
    training = Training(make_spec(steps=0, **settings), data_root, tmp_path)
    assert not training.finished
    untrained = {name: value.clone() for name, value in training.model.state_dict().items()}
    expected = training.evaluate()
    result = finish(training).result()
    assert [(p.step, p.scores) for p in result.curve] == [(0, expected)]
    assert result.scores == expected
    assert result.diagnostics["images_per_second"] == 0
    assert all(math.isfinite(value) for value in result.diagnostics.values())
    assert sum(sum(counts) for counts in result.counts.values()) == 0
    weights, _ = load_model(tmp_path / "model")
    assert all(torch.equal(weights[name], value) for name, value in untrained.items())
    again = Training(make_spec(steps=0, **settings), data_root, tmp_path)
    assert again.finished
    assert again.result().scores == expected
    again.close()


def test_training_helps(make_spec, data_root, tmp_path, finish):
    spec = make_spec("contrastive", "all", "all", steps=60, rate=0.0, evaluation={"every": 60})
    training = Training(replace(spec, dataset=replace(spec.dataset, evaluate_on=("coarse",))), data_root, tmp_path)
    before = training.evaluate()["seen/coarse/nmi"]
    assert finish(training).result().scores["seen/coarse/nmi"] > before + 0.2


def test_a_trial_counts_the_distances_of_its_negatives(make_spec, data_root, tmp_path, finish):
    """The report estimates eta from these counts, and shows the bound that follows from it."""
    batch = BatchSpec(classes=2, per_class=32)
    spec = make_spec(negatives="random", steps=10, batch=batch, evaluation={"every": 10})
    counts = finish(Training(spec, data_root, tmp_path)).result().counts
    assert set(counts) == {f"eta_{kind}{name}" for kind in ("", "positive_") for name in ("drawn", "uniform")}
    assert len(counts["eta_drawn"]) == len(counts["eta_uniform"]) > 1
    assert all(sum(counted) == pytest.approx(2 * batch.size, abs=0.1) for counted in counts.values())


def test_the_caller_keeps_its_random_state(make_spec, data_root, tmp_path, finish):
    before = torch.get_rng_state()
    finish(Training(make_spec(), data_root, tmp_path))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_loss_that_is_not_finite_is_an_error_that_names_the_step(make_spec, data_root, tmp_path, finish):
    training = Training(make_spec(optimizer="sgd", learning_rate=1e30), data_root, tmp_path)
    with pytest.raises(TrainingError, match=r"infinite or NaN (at|by) step \d+ of 12.*'triplet'.*1e\+30"):
        finish(training)


@pytest.mark.parametrize("channels_last", [False, True])
def test_half_precision_trains_to_nearly_the_same(make_spec, data_root, tmp_path, finish, channels_last):
    evaluation = {"metrics": ("recall@1", "map@r")}
    full = finish(Training(make_spec(evaluation=evaluation), data_root, tmp_path / "full")).result()
    spec = make_spec(evaluation=evaluation, precision="bfloat16", channels_last=channels_last)
    half = finish(Training(spec, data_root, tmp_path / "half")).result()
    assert half.scores == pytest.approx(full.scores, abs=0.03)
    assert half.diagnostics["loss"] == pytest.approx(full.diagnostics["loss"], rel=0.02)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_trains_as_a_cpu_does(make_spec, data_root, tmp_path, finish):
    """With all tuples, since devices draw others, and for few steps, in which roundings hardly grow."""
    spec = make_spec("contrastive", "all", "all", evaluation={"metrics": ("recall@1", "map@r")})
    cpu = finish(Training(spec, data_root, tmp_path / "cpu")).result()
    gpu = finish(Training(spec, data_root, tmp_path / "gpu", device="cuda")).result()
    assert gpu.scores == pytest.approx(cpu.scores, abs=0.03)
    assert gpu.diagnostics["loss"] == pytest.approx(cpu.diagnostics["loss"], rel=0.02)
