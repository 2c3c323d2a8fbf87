"""Rates, decay, schedules, clipping, averages, batch norm and heads: against loops written out."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from dml import evaluation, losses, models
from dml.training import closed_form
from dml.training.loop import Training
from dml.training.model_files import TrainedEmbedder
from dml.training.optimizers import build_optimizer, clip
from dml.types import TrainingSpec

pytestmark = pytest.mark.slow

NETWORK = {"embedding_size": 3, "channels": 1, "width": 2}


def rates(training: TrainingSpec) -> list[list[float]]:
    """The learning rate of each group at each step."""
    optimizer, schedule = build_optimizer(training, models.build("small_conv", **NETWORK), losses.Triplet())
    found = []
    for _ in range(training.steps):
        found.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
    return found


def test_each_group_has_its_rate_and_only_weights_decay():
    network, loss = models.build("small_conv", **NETWORK), losses.build("proxy_nca", num_classes=4, embedding_size=3)
    training = TrainingSpec(learning_rate=0.5, head_learning_rate=0.25, loss_learning_rate=2.0, weight_decay=0.1)
    optimizer, _ = build_optimizer(training, network, loss)
    of = {p: (group["lr"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in network.named_parameters():
        rate = 0.25 if name.startswith("head.") else 0.5
        assert of.pop(parameter) == (rate, 0.1 if parameter.ndim > 1 else 0.0), name
    assert of == {loss.proxies: (2.0, 0.0)}


@pytest.mark.parametrize("upper", [False, True])
def test_layer_decay_multiplies_the_rates_of_each_lower_block(upper):
    """Blocks are counted from the last layers, `norm`, which have the whole rate, down to the embedding of patches."""
    pytest.importorskip("timm")
    arguments = {"patch_size": 8, "embed_dim": 8, "depth": 3, "num_heads": 2}
    settings = {"name": "vit_tiny_patch16_224", "pretrained": False, "arguments": arguments}
    network = models.build("timm", embedding_size=3, image_size=16, **settings)
    if upper:
        network.backbone = models.FromBlock(network.backbone, "blocks.1", (3, 16, 16))
    training = TrainingSpec(learning_rate=1.0, head_learning_rate=7.0, layer_decay=0.5, weight_decay=0.1)
    optimizer, _ = build_optimizer(training, network, losses.Triplet())
    of = {p: (group["lr"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]}
    expected = {"patch_embed": 1 / 16, "cls_token": 1 / 16, "pos_embed": 1 / 16, "norm": 1.0, "head": 7.0}
    expected |= {"blocks.0": 1 / 8, "blocks.1": 1 / 4, "blocks.2": 1 / 2}
    trained = [(name, parameter) for name, parameter in network.named_parameters() if parameter.requires_grad]
    assert len(trained) == len(of)
    for name, parameter in trained:
        rate = next(rate for part, rate in expected.items() if f"{part}." in f"{name}.")
        assert of[parameter] == (rate, 0.1 if parameter.ndim > 1 else 0.0), name


@pytest.mark.parametrize(
    ("backbone", "settings", "blocks"),
    [
        ("torchvision", {"name": "resnet18", "pretrained": False}, 5),  # what is before its four, and those
        ("inception_bn", {}, 11),
        ("side_by_side", {"backbones": ["inception_bn", "small_conv"]}, 11),
    ],
)
def test_a_norm_and_parallel_branches_are_of_their_block(backbone, settings, blocks):
    network = models.build(backbone, embedding_size=3, image_size=32, **settings)
    optimizer, _ = build_optimizer(TrainingSpec(learning_rate=1.0, layer_decay=0.5), network, losses.Triplet())
    rates = {p: group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert sorted(set(rates.values())) == [0.5**below for below in range(blocks)][::-1]


@pytest.mark.parametrize(
    ("names", "rates"),
    [
        ("conv0 denseblock1.conv transition1.conv denseblock2.conv norm5", [1 / 8, 1 / 4, 1 / 4, 1 / 2, 1]),
        ("Conv2d_1a.conv Mixed_5b.conv Mixed_7c.conv", [1 / 4, 1 / 2, 1]),
    ],
)
def test_what_is_between_two_blocks_is_of_the_lower_one(names, rates):
    network = models.build("small_conv", **NETWORK)
    network.backbone = nn.Module()
    for name in names.split():
        network.backbone.add_module(name.partition(".")[0], nn.ModuleDict({"conv": nn.Linear(1, 1)}))
    training = TrainingSpec(learning_rate=1.0, layer_decay=0.5)
    optimizer, _ = build_optimizer(training, network, losses.Triplet())
    of = {parameter: group["lr"] for group in optimizer.param_groups for parameter in group["params"]}
    assert [of[part["conv"].weight] for part in network.backbone.children()] == rates


def test_rates_of_schedules_with_and_without_warmup():
    cosine = rates(TrainingSpec(steps=8, learning_rate=1.0, schedule="cosine", warmup_steps=4))
    expected = [0.25, 0.5, 0.75, 1.0, *((1 + math.cos(math.pi * k / 4)) / 2 for k in range(4))]
    assert [step[0] for step in cosine] == pytest.approx(expected)


def test_clipping_by_value_and_by_norm():
    parameters = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))]
    for parameter, gradient in zip(parameters, ([3.0, -0.5], [4.0]), strict=True):
        parameter.grad = torch.tensor(gradient)
    clip(TrainingSpec(clip_value=2.0), parameters)
    assert torch.cat([p.grad for p in parameters]).tolist() == [2.0, -0.5, 2.0]
    clip(TrainingSpec(clip_norm=1.0), parameters)
    assert torch.cat([p.grad for p in parameters]).norm().item() == pytest.approx(1.0, rel=1e-4)


def test_the_loop_clips(make_spec, data_root, tmp_path):
    free = Training(make_spec(optimizer="sgd"), data_root, tmp_path / "free")
    clipped = Training(make_spec(optimizer="sgd", clip_norm=1e-12), data_root, tmp_path / "clipped")
    before = free.model.head.weight.clone()
    for training in (free, clipped):
        training.advance()
        training.close()
    assert torch.allclose(clipped.model.head.weight, before, atol=1e-8)
    assert not torch.allclose(free.model.head.weight, before, atol=1e-5)


def embed(training: Training, model: nn.Module, rows: np.ndarray) -> torch.Tensor:
    return evaluation.embed_images(model, training.data.packed.images, rows, augment=training._augment, device="cpu")


def test_frozen_batch_norm_keeps_statistics_and_parameters(make_spec, data_root, tmp_path):
    training = Training(make_spec(batch_norm="frozen"), data_root, tmp_path)
    norms = [m for m in training.model.modules() if isinstance(m, nn.BatchNorm2d)]
    before = [(m.weight.clone(), m.running_mean.clone()) for m in norms]
    training.advance()
    training.close()
    assert norms
    for module, (weight, mean) in zip(norms, before, strict=True):
        assert torch.equal(module.weight, weight)
        assert torch.equal(module.running_mean, mean)


@pytest.mark.parametrize("kind", closed_form.KINDS)
def test_a_head_starts_from_the_closed_form_of_its_features(make_spec, data_root, tmp_path, kind):
    training = Training(make_spec(head_start=kind, rate=0.0), data_root, tmp_path)
    rows = training.data.rows
    features = embed(training, training.model.backbone, rows)
    found = closed_form.fit(kind, features.numpy(), training.data.observed, 8)
    inputs = nn.functional.normalize(features) if kind in closed_form.NORMALIZED else features
    expected = inputs @ found.weight.T + found.bias
    torch.testing.assert_close(embed(training, training.model, rows), expected, rtol=1e-4, atol=1e-4)


def test_the_head_is_fitted_again_to_the_trained_backbone(make_spec, data_root, tmp_path, finish):
    spec = make_spec(head_refit="whitening", head_start="whitening", rate=0.0)
    training = finish(Training(spec, data_root, tmp_path))
    features = embed(training, training.trained.backbone, training.data.rows)
    found = closed_form.fit("whitening", features.numpy(), training.data.observed, 8)
    expected = nn.functional.normalize(features) @ found.weight.T + found.bias
    torch.testing.assert_close(embed(training, training.trained, training.data.rows), expected, rtol=1e-4, atol=1e-4)
    weights = [next(iter(network.head.parameters())) for network in (training.model, training.trained)]
    assert not torch.allclose(*weights, atol=1e-3)
    saved = TrainedEmbedder(tmp_path / "model")
    rows = training.data.rows[:6]
    images = np.asarray(training.data.packed.images[rows])
    torch.testing.assert_close(
        torch.from_numpy(saved(images)), nn.functional.normalize(expected[:6]), rtol=1e-4, atol=1e-4
    )
