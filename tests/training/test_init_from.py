"""A network that starts from the weights of another one."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from dml import models
from dml.training.loop import Training
from dml.training.model_files import TrainedEmbedder, digest, load_init_from, weights_file
from dml.types import InitFromSpec

pytestmark = pytest.mark.slow


@pytest.fixture
def trained(make_spec, data_root, tmp_path, finish):
    """A finished trial's folder."""
    folder = tmp_path / "trained"
    finish(Training(make_spec(steps=4), data_root, folder))
    return folder


def start_from(path, head=None):
    file = weights_file(path)
    return InitFromSpec(digest(file), str(file), head)


@pytest.mark.parametrize("name", ["model", "model/model.safetensors", "checkpoint/last.pt"])
def test_a_network_starts_from_the_weights_of_a_trial(make_spec, data_root, trained, tmp_path, name):
    """Its batch-norm statistics too."""
    training = Training(make_spec(init_from=start_from(trained / name), seed=1), data_root, tmp_path / "next")
    own, expected = training.model.state_dict(), load_file(trained / "model/model.safetensors")
    assert own.keys() == expected.keys()
    assert all(torch.equal(own[key], expected[key]) for key in own)
    assert any("running_mean" in key for key in own)


@pytest.mark.parametrize(("head", "size", "kept"), [(None, 8, True), (None, 6, False), ("new", 8, False)])
def test_the_head_is_kept_if_its_size_fits_unless_it_should_be_new(
    make_spec, data_root, trained, tmp_path, head, size, kept
):
    start, seed = start_from(trained / "model", head), 1
    training = Training(make_spec(init_from=start, embedding_size=size, seed=seed), data_root, tmp_path / "next")
    scratch = Training(make_spec(embedding_size=size, seed=seed), data_root, tmp_path / "scratch")
    weights = load_file(trained / "model/model.safetensors")
    assert torch.equal(training.model.backbone.layers[0].weight, weights["backbone.layers.0.weight"])
    expected = weights["head.weight"] if kept else scratch.model.head.weight
    assert torch.equal(training.model.head.weight, expected)


def test_a_head_that_takes_unit_features_is_another_head(make_spec, data_root, trained, tmp_path):
    start = start_from(trained / "model")
    with pytest.raises(ValueError, match="head: new"):
        Training(make_spec(init_from=start, head_refit="whitening"), data_root, tmp_path / "next")
    new = make_spec(init_from=start_from(trained / "model", "new"), head_refit="whitening")
    assert Training(new, data_root, tmp_path / "next").model.head.weight.shape[0] == 8


def test_training_changes_the_weights_and_resumes_from_its_own(make_spec, data_root, trained, tmp_path, finish):
    spec = make_spec(init_from=start_from(trained / "model"), seed=1)
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    broken = Training(spec, data_root, tmp_path / "broken")
    broken.advance()
    broken.close()
    broken = finish(Training(spec, data_root, tmp_path / "broken"))
    assert broken.result().scores == whole.result().scores
    assert torch.equal(broken.model.head.weight, whole.model.head.weight)
    assert not torch.equal(whole.model.head.weight, load_file(trained / "model/model.safetensors")["head.weight"])


def test_weights_that_changed_since_are_refused(trained, make_spec, data_root, tmp_path):
    start = start_from(trained / "model")
    weights = load_file(trained / "model/model.safetensors")
    save_file({**weights, "head.bias": weights["head.bias"] + 1}, trained / "model/model.safetensors")
    assert digest(weights_file(trained / "model")) != start.weights
    with pytest.raises(ValueError, match="not the weights that the trial was planned with"):
        load_init_from(torch.nn.Linear(1, 1), start)


def test_a_backbones_file_is_needed_only_for_the_first_step(make_spec, data_root, tmp_path, finish):
    """A trial resumes without it, and its model is loaded without it."""
    path = tmp_path / "own.safetensors"
    wanted = {"backbone": "mobilenet_v1", "backbone_settings": {"width": 0.25, "mean": 0.4, "std": 0.2}}
    torch.manual_seed(3)
    made = models.build("mobilenet_v1", embedding_size=1, channels=1, width=0.25).backbone
    save_file(made.state_dict(), path)
    settings = {**wanted["backbone_settings"], "weights": str(path)}
    spec = make_spec(backbone="mobilenet_v1", backbone_settings=models.with_files("mobilenet_v1", settings))
    broken = Training(spec, data_root, tmp_path / "trial")
    assert torch.equal(broken.model.backbone.conv_stem.weight, made.conv_stem.weight)
    assert broken._augment(torch.zeros(1, 1, 8, 8, dtype=torch.uint8), False)[0, 0, 0, 0].item() == pytest.approx(-2)
    broken.advance()
    broken.close()
    path.unlink()
    with pytest.raises(ValueError, match=r"own\.safetensors: no such file"):
        Training(spec, data_root, tmp_path / "another")
    resumed = finish(Training(spec, data_root, tmp_path / "trial"))
    embed = TrainedEmbedder(tmp_path / "trial/model")
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 1), dtype=np.uint8)
    with torch.no_grad():
        pixels = resumed._augment(torch.from_numpy(images).permute(0, 3, 1, 2), False)
        expected = torch.nn.functional.normalize(resumed.model.eval()(pixels))
    np.testing.assert_allclose(embed(images), expected.numpy(), atol=1e-6)
