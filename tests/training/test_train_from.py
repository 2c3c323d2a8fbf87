"""Trials on stored activations: they train as the whole network with fixed lower blocks, and save the whole network."""

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
from dml.training.frozen.opening import Activations, StoredViews, find_features
from dml.training.frozen.recipe import BATCH, describe_augment, describe_backbone, features_id, recipe
from dml.training.loop import Training
from dml.training.model_files import TrainedEmbedder, load_model
from dml.types import TrainingSpec

pytestmark = pytest.mark.slow

BLOCK = "layers.3"  # the second convolution of `small_conv`: 4 x 8 x 8 before it
PLAIN = TrainingSpec(backbone_settings={"width": 4}, train_from=BLOCK)
VIEWED = replace(PLAIN, augment="random_resized_crop", augment_settings={"image_size": 8}, views=3)
HALF = replace(PLAIN, frozen_precision="float16")


@pytest.fixture(scope="module")
def stored(data_root, packed, tmp_path_factory):
    """The stage's output for `PLAIN`, `VIEWED` and `HALF`."""
    store, path, listed = tmp_path_factory.mktemp("activations"), data_root / "features.json", {}
    before = path.read_text() if path.exists() else None
    for training in (PLAIN, VIEWED, HALF):
        folder = extract(packed, training, store)
        listed[folder.name] = {"folder": str(folder)}
    path.write_text(json.dumps({"digits": listed}))
    yield {name: find_features(data_root, "digits", one) for name, one in (("plain", PLAIN), ("viewed", VIEWED))}
    path.write_text(before) if before is not None else path.unlink()


def network(training, packed):
    """The backbone with the weights of the fixed seed."""
    with torch.random.fork_rng():
        torch.manual_seed(recipes.UNTRAINED_SEED)
        return models.build(**describe_backbone(training, packed.manifest), embedding_size=1).backbone.eval()


def naive(spec, packed, images, training=False, generator=None):
    """The first three layers of `small_conv`."""
    augment = augmentations.build(**describe_augment(spec, packed.manifest))
    pixels = torch.from_numpy(np.array(images)).permute(0, 3, 1, 2)
    with torch.no_grad():
        return network(spec, packed).layers[:3](augment(pixels, training=training, generator=generator))


def test_the_first_view_is_that_of_evaluation_bit_for_bit(stored, packed):
    torch.set_num_threads(1)
    for name, training in (("plain", PLAIN), ("viewed", VIEWED)):
        found = stored[name].array
        assert found.shape == (1797, training.views, 4, 8, 8)
        for part in (slice(0, BATCH), slice(-(1797 % BATCH), None)):
            expected = naive(training, packed, packed.images[part])
            assert np.array_equal(found[part, 0], expected.numpy())


def test_other_views_are_those_of_training_and_differ(stored, packed):
    torch.set_num_threads(1)
    found = stored["viewed"].array[BATCH : 2 * BATCH]
    for view in (1, 2):
        draw = recipes.view_generator(1, view, "cpu")
        expected = naive(VIEWED, packed, packed.images[BATCH : 2 * BATCH], training=True, generator=draw)
        assert np.array_equal(found[:, view], expected.numpy())
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert not np.allclose(found[:, first], found[:, second], atol=0.1)


class FixedBelow(torch.nn.Module):
    """`small_conv`, whose first three layers stay in evaluation mode and get no gradients."""

    def __init__(self, whole):
        super().__init__()
        self.whole, self.features = whole, whole.features
        whole.layers[:3].requires_grad_(False)

    def forward(self, images):
        self.whole.layers[:3].eval()
        return self.whole(images)


@pytest.mark.parametrize(
    ("changes", "tolerance"), [({}, 1e-4), ({"frozen_precision": "float16"}, 1e-2)], ids=["float32", "float16"]
)
def test_it_trains_as_the_whole_network_with_fixed_lower_blocks(
    stored, packed, make_spec, data_root, tmp_path, monkeypatch, changes, tolerance
):
    spec = make_spec(steps=20, train_from=BLOCK, **changes)
    own = Training(spec, data_root, tmp_path / "activations")
    whole = EmbeddingNetwork(FixedBelow(network(PLAIN, packed).train()), spec.training.embedding_size)
    whole.head.load_state_dict(own.model.head.state_dict())
    monkeypatch.setattr(loop, "build_model", lambda *given: whole)
    through = Training(replace(spec, training=replace(spec.training, train_from=None)), data_root, tmp_path / "images")
    for step in range(20):
        for trial in (own, through):
            trial._train_step()
        ours, theirs = (trial.diagnostics.means(step + 1)["loss"] for trial in (own, through))
        assert ours == pytest.approx(theirs, rel=tolerance), step
    lower = own.model.backbone.backbone.layers
    assert torch.equal(lower[0].weight, whole.backbone.whole.layers[0].weight), "the lower blocks do not change"
    torch.testing.assert_close(lower[3].weight, whole.backbone.whole.layers[3].weight, rtol=tolerance, atol=tolerance)
    assert not torch.equal(lower[3].weight, network(PLAIN, packed).layers[3].weight)
    assert torch.equal(lower[1].running_mean, network(PLAIN, packed).layers[1].running_mean)
    for trial in (own, through):
        trial.close()


@pytest.mark.parametrize("views", [1, 3])
def test_the_saved_model_is_the_whole_network_from_images(
    stored, packed, make_spec, data_root, tmp_path, finish, views
):
    training = vars(VIEWED) if views == 3 else {}
    keys = ("augment", "augment_settings", "views")
    spec = make_spec(
        steps=4,
        train_from=BLOCK,
        evaluation={"keep_embeddings": True},
        **{key: training[key] for key in keys if key in training},
    )
    trained = finish(Training(spec, data_root, tmp_path))
    kept = np.load(tmp_path / "embeddings.npz")
    embedded = TrainedEmbedder(tmp_path / "model")(np.array(packed.images)[kept["index"]])
    expected = torch.nn.functional.normalize(torch.from_numpy(kept["embeddings"])).numpy()
    np.testing.assert_allclose(embedded, expected, atol=1e-5)
    weights, description = load_model(tmp_path / "model")
    assert {name for name in weights if "num_batches" not in name} == {
        name for name in models.build(**description["network"]).state_dict() if "num_batches" not in name
    }
    assert "train_from" not in json.dumps(description)
    stem = load_file(find_features(data_root, "digits", spec.training).backbone)["layers.0.weight"]
    assert torch.equal(weights["backbone.layers.0.weight"], stem)
    assert trained.data.packed.images.shape == (1797, 1, 1, 256)


@pytest.mark.parametrize("views", [1, 3])
def test_it_resumes_bit_for_bit(stored, make_spec, data_root, tmp_path, finish, views):
    kind = {"augment": VIEWED.augment, "augment_settings": VIEWED.augment_settings, "views": 3} if views > 1 else {}
    spec = make_spec(steps=12, train_from=BLOCK, **kind)
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    first = Training(spec, data_root, tmp_path / "parts")
    first.advance()
    first.close()
    again = Training(spec, data_root, tmp_path / "parts")
    assert again.step == 4
    result = finish(again).result()
    assert result.scores == whole.result().scores
    assert result.diagnostics["loss"] == whole.result().diagnostics["loss"]


def test_views_are_drawn_at_random_in_training_and_the_first_is_evaluated():
    array = np.arange(4 * 3 * 2, dtype=np.float16).reshape(4, 3, 2, 1, 1)
    images, rows = StoredViews(array), np.arange(4).repeat(300)
    assert images.shape == (4, 1, 1, 2)
    assert np.array_equal(images[rows][:, 0, 0], array[rows, 0, :, 0, 0])
    drawn = images.random(rows, torch.Generator().manual_seed(0))[:, 0, 0, 0]
    views = (drawn % 6) / 2
    assert np.array_equal(drawn // 6, rows)
    assert np.abs(np.bincount(views.astype(int)) / len(views) - 1 / 3).max() < 0.05
    again = images.random(rows, torch.Generator().manual_seed(0))[:, 0, 0, 0]
    assert np.array_equal(drawn, again)
    batch = torch.from_numpy(images[rows]).permute(0, 3, 1, 2)
    shaped = Activations((2, 1, 1))(batch, training=True)
    assert (shaped.dtype, shaped.shape) == (torch.float32, (1200, 2, 1, 1))


def test_the_block_and_the_views_are_in_the_name_and_features_keep_theirs(packed):
    names = [
        features_id(recipe(one, packed.manifest))
        for one in (PLAIN, VIEWED, HALF, replace(VIEWED, views=4), replace(PLAIN, train_from="layers.6"))
    ]
    assert len(set(names)) == 5
    assert names[0].startswith("small_conv-layers.3-")
    assert not {"train_from", "views"} & set(recipe(replace(PLAIN, train_from=None, frozen=True), packed.manifest))


def test_what_is_stored_is_pinned(golden, stored):
    """The golden file of the recipe's version, which covers activations and how views are drawn."""
    array = stored["viewed"].array
    values = {"first": array[0, :, :2, 3, 3], "sums": array.sum(axis=(0, 2, 3, 4), dtype=np.float64)}
    golden.check("training", "train_from", recipes, values, defaults={}, rtol=1e-4, atol=1e-5)
