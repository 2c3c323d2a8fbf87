"""Trials on frozen features: what they store, that they train as through the frozen network, and what they export."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dml import models
from dml.data import augment as augmentations
from dml.models import EmbeddingNetwork
from dml.training import loop
from dml.training.frozen import recipe as recipes
from dml.training.frozen.extraction import extract
from dml.training.frozen.opening import find_features
from dml.training.frozen.recipe import BATCH, describe_augment, describe_backbone, features_id, recipe
from dml.training.loop import Training
from dml.training.model_files import TrainedEmbedder, load_model
from dml.types import TrainingSpec

pytestmark = pytest.mark.slow

FROZEN = TrainingSpec(backbone_settings={"width": 4}, frozen=True)


@pytest.fixture(scope="session")
def stored(data_root, packed, tmp_path_factory):
    """The stage's output for `FROZEN`, and in float16; the features in float32."""
    store, listed = tmp_path_factory.mktemp("features"), {}
    for training in (FROZEN, replace(FROZEN, frozen_precision="float16")):
        folder = extract(packed, training, store)
        listed[folder.name] = {"folder": str(folder)}
    (data_root / "features.json").write_text(json.dumps({"digits": listed}))
    return find_features(data_root, "digits", FROZEN)


def naive(training, packed, batch=BATCH):
    """The backbone's features of all images, in evaluation mode, by the shortest code."""
    with torch.random.fork_rng():
        torch.manual_seed(recipes.UNTRAINED_SEED)
        network = models.build(**describe_backbone(training, packed.manifest), embedding_size=1).backbone.eval()
    augment = augmentations.build(**describe_augment(training, packed.manifest))
    images = torch.from_numpy(np.array(packed.images)).permute(0, 3, 1, 2)
    with torch.no_grad():
        return network, torch.cat([network(augment(part, training=False)) for part in images.split(batch)])


def test_features_are_the_backbones_own_bit_for_bit(stored, packed, data_root):
    torch.set_num_threads(1)
    network, expected = naive(FROZEN, packed)
    assert np.array_equal(stored.array, expected.numpy())
    assert all(torch.equal(value, network.state_dict()[name]) for name, value in load_file(stored.backbone).items())
    half = find_features(data_root, "digits", replace(FROZEN, frozen_precision="float16")).array
    assert half.dtype == np.float16
    np.testing.assert_allclose(half.astype(np.float32), stored.array, rtol=1e-3, atol=1e-5)
    assert (stored.manifest["images"], stored.manifest["features"]) == (len(packed.images), 16) == stored.array.shape


class Still(torch.nn.Module):
    """A backbone that stays in evaluation mode and gets no gradients."""

    def __init__(self, network):
        super().__init__()
        self.network, self.features = network.requires_grad_(False), network.features

    def forward(self, images):
        self.network.eval()
        return self.network(images)


@pytest.mark.parametrize("loss", ["triplet", "proxy_nca"])
def test_training_on_features_is_training_through_the_frozen_network(
    stored, packed, make_spec, data_root, tmp_path, finish, monkeypatch, loss
):
    tuples = {"positives": None} if loss == "proxy_nca" else {}
    spec = make_spec(loss, **tuples, steps=8, frozen=True)
    own = Training(spec, data_root, tmp_path / "features")
    network = naive(FROZEN, packed)[0]
    whole = EmbeddingNetwork(Still(network), spec.training.embedding_size)
    whole.head.load_state_dict(own.model.head.state_dict())
    monkeypatch.setattr(loop, "build_model", lambda *given: whole)
    monkeypatch.setattr(loop, "build_loss", lambda *given, make=loop.build_loss: _same(make(*given), own))
    through = Training(replace(spec, training=replace(spec.training, frozen=False)), data_root, tmp_path / "images")
    own, through = finish(own).result(), finish(through).result()
    assert own.scores == pytest.approx(through.scores, abs=2e-3)
    assert own.diagnostics["loss"] == pytest.approx(through.diagnostics["loss"], rel=1e-4)
    assert [point.step for point in own.curve] == [4, 8]


def _same(made, training):
    """A loss with the initial proxies of another trial: a frozen one draws fewer initial weights before them."""
    made.load_state_dict(training.loss.state_dict())
    return made


def test_the_exported_model_is_backbone_and_head_from_images(stored, packed, make_spec, data_root, tmp_path, finish):
    spec = make_spec(steps=4, frozen=True, evaluation={"keep_embeddings": True})
    finish(Training(spec, data_root, tmp_path))
    kept = np.load(tmp_path / "embeddings.npz")
    embedded = TrainedEmbedder(tmp_path / "model")(np.array(packed.images)[kept["index"]])
    expected = torch.nn.functional.normalize(torch.from_numpy(kept["embeddings"])).numpy()
    np.testing.assert_allclose(embedded, expected, atol=1e-5)
    weights, _ = load_model(tmp_path / "model")
    assert {name.partition(".")[0] for name in weights} == {"backbone", "head"}


def test_a_frozen_trial_resumes_bit_for_bit(stored, make_spec, data_root, tmp_path, finish):
    spec = make_spec(steps=12, frozen=True)
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    first = Training(spec, data_root, tmp_path / "parts")
    first.advance()
    first.close()
    again = Training(spec, data_root, tmp_path / "parts")
    assert again.step == 4
    assert finish(again).result().scores == whole.result().scores


@pytest.mark.parametrize(
    "changes",
    [
        {"backbone": "mlp", "backbone_settings": {}},
        {"backbone_settings": {"width": 5}},
        {"augment_settings": {"image_size": 12}},
        {"augment_settings": {"normalization": "imagenet"}},
        {"precision": "bfloat16"},
        {"frozen_precision": "float16"},
        {"device": "cuda"},
    ],
)
def test_what_decides_features_is_in_their_name(packed, changes):
    assert _id(replace(FROZEN, **changes), packed) != _id(FROZEN, packed)


def _id(training, packed):
    return features_id(recipe(training, packed.manifest))


def test_features_are_pinned(golden, stored):
    """The golden file of the recipe's version: another number needs a raised version, which is in trials' keys."""
    values = {"first": stored.array[:3, :4], "sum": float(stored.array.sum(dtype=np.float64))}
    golden.check("training", "frozen", recipes, values, defaults={}, rtol=1e-4, atol=1e-5)
