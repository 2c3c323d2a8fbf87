"""Embeddings of an image and its mirror image together: each place that embeds, against the shortest code."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from dml import evaluation
from dml.data import augment as augmentations
from dml.models import BeforeBlock
from dml.training import closed_form, free
from dml.training.build import describe_model, whole_network
from dml.training.frozen.extraction import extract
from dml.training.frozen.recipe import of_each_view, of_whole_backbone
from dml.training.loop import Training
from dml.training.model_files import TrainedEmbedder, save_model
from dml.types import TrainingSpec

pytestmark = pytest.mark.slow

BLOCK = "layers.3"
VIEWED = {"augment": "random_resized_crop", "augment_settings": {"image_size": 8}, "views": 3}
INPUTS = {
    "images": {},
    "features": {"frozen": True},
    "activations": {"train_from": BLOCK},
    "viewed": {"train_from": BLOCK, **VIEWED},
}
WANTED = {"views": "mirror", "keep_embeddings": True, "metrics": ("recall@1", "map@r")}


@pytest.fixture(scope="module")
def stored(data_root, packed, tmp_path_factory):
    """What the stage `features` writes for trials that start from features and activations, of both views."""
    store, path, listed = tmp_path_factory.mktemp("views"), data_root / "features.json", {}
    before = path.read_text() if path.exists() else None
    for settings in list(INPUTS.values())[1:]:
        training = TrainingSpec(backbone_settings={"width": 4}, **settings)
        for one in (training, of_whole_backbone(training), replace(of_whole_backbone(training), layers=True)):
            for view in of_each_view(one, "mirror"):
                folder = extract(packed, view, store, report=lambda line: None)
                listed[folder.name] = {"folder": str(folder)}
    path.write_text(json.dumps({"digits": listed}))
    yield
    path.write_text(before) if before is not None else path.unlink()


def of_pixels(folder):
    """The embedding of one view of images uint8 (n, H, W, C), as NumPy has it, by the network in a trial's folder."""
    embedder = TrainedEmbedder(folder / "model")
    description = json.loads((folder / "model/model.json").read_text())
    augment = augmentations.build(**description["augment"])

    def embed(images):
        pixels = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2)
        with torch.no_grad():
            return embedder.network.eval()(augment(pixels, training=False)).double().numpy()

    return embed


def naive(embed, images):
    """The sum of the unit embeddings of each image and its mirror image, made unit, one image after the other."""
    views = [embed(images), embed(images[:, :, ::-1])]
    found = []
    for one, other in zip(*views, strict=True):
        total = one / math.sqrt((one**2).sum()) + other / math.sqrt((other**2).sum())
        found.append(total / math.sqrt((total**2).sum()))
    return np.array(found, dtype=np.float32)


def scores_of(found, training, name):
    rows = training.data.evaluation_rows(name)
    return evaluation.evaluate(torch.from_numpy(found), training.data.labels("fine", rows), ["recall@1", "map@r"])


@pytest.mark.parametrize("given", [*INPUTS, "refitted"])
def test_a_trial_is_scored_on_both_views_and_its_model_gives_them(
    stored, packed, make_spec, data_root, tmp_path, finish, given
):
    settings = {"refitted": {"head_refit": "whitening"}, **INPUTS}[given]
    training = finish(Training(make_spec(steps=4, evaluation=WANTED, **settings), data_root, tmp_path))
    kept = np.load(tmp_path / "embeddings.npz")
    images = np.array(packed.images)[kept["index"]]
    expected = naive(of_pixels(tmp_path), images)
    one = torch.nn.functional.normalize(torch.from_numpy(of_pixels(tmp_path)(images))).numpy()
    assert np.abs(one - expected).max() > 5e-3, "one view is something else"
    np.testing.assert_allclose(kept["embeddings"], expected, atol=2e-5)
    np.testing.assert_allclose(TrainedEmbedder(tmp_path / "model")(images), expected, atol=2e-5)
    own = scores_of(expected[kept["set"] == "test"], training, "test")
    assert training.result().scores["test/fine/map@r"] == pytest.approx(own["map@r"], abs=1e-4)
    assert TrainedEmbedder(tmp_path / "model").views == "mirror"


@pytest.mark.parametrize("given", ["images", "features"])
def test_validation_scores_are_of_the_same_views(stored, packed, make_spec, data_root, tmp_path, finish, given):
    spec = make_spec(steps=4, phase="tune", evaluation={**WANTED, "at_start": True}, **INPUTS[given])
    tuned = finish(Training(spec, data_root, tmp_path / "tuned"))
    rows = tuned.data.evaluation_rows("validation")
    whole = whole_network(spec, tuned.data, tuned.trained)  # tuning trials save no model
    save_model(tmp_path / "again/model", whole, describe_model(spec, tuned.data))
    own = scores_of(naive(of_pixels(tmp_path / "again"), np.array(packed.images)[rows]), tuned, "validation")
    first, last = tuned.result().curve
    assert last.scores["validation/fine/map@r"] == pytest.approx(own["map@r"], abs=1e-4)
    assert first.scores != last.scores


@pytest.mark.parametrize("kind", closed_form.KINDS)
@pytest.mark.parametrize("given", ["images", "features"])
def test_a_closed_form_is_fitted_to_the_images_as_they_are(
    stored, packed, make_spec, data_root, tmp_path, finish, kind, given
):
    spec = make_spec("whitening", None, steps=0, head_start=kind, rate=0.0, evaluation=WANTED, **INPUTS[given])
    training = finish(Training(spec, data_root, tmp_path))
    network, rows = TrainedEmbedder(tmp_path / "model").network, training.data.rows
    images = np.array(packed.images)

    def features(some):
        pixels = torch.from_numpy(np.ascontiguousarray(some)).permute(0, 3, 1, 2)
        with torch.no_grad():
            return network.backbone.eval()(augmentations.build("none", channels=1)(pixels, training=False)).numpy()

    found = closed_form.fit(kind, features(images[rows]), training.data.observed, 8)
    weight, bias = found.weight.double().numpy(), found.bias.double().numpy()

    def embed(some):
        given = features(some).astype(float)
        if kind in closed_form.NORMALIZED:
            given /= np.linalg.norm(given, axis=1, keepdims=True)
        return given @ weight.T + bias

    kept = np.load(tmp_path / "embeddings.npz")
    np.testing.assert_allclose(kept["embeddings"], naive(embed, images[kept["index"]]), atol=1e-3)


@pytest.fixture
def two_classes_choose(monkeypatch):
    """There are not more."""
    monkeypatch.setattr(free, "FEWEST", 2)


def test_a_resumed_trial_still_says_what_it_started_from(
    two_classes_choose, stored, make_spec, data_root, tmp_path, finish
):
    settings = {**INPUTS["features"], "layers": True, "head_start": "free", "steps": 8, "embedding_size": 12}
    first = Training(spec := make_spec(**settings), data_root, tmp_path)
    first.advance()
    first.close()
    finish(Training(spec, data_root, tmp_path))
    assert json.loads((tmp_path / "model/model.json").read_text())["chosen"]


@pytest.mark.parametrize("given", ["images", "features"])
def test_what_is_free_is_a_model_of_the_layer_that_observed_labels_choose(
    two_classes_choose, stored, packed, make_spec, data_root, tmp_path, finish, given
):
    settings = {**INPUTS[given], "layers": True, "head_start": "free", "steps": 0, "embedding_size": 12}
    training = finish(Training(make_spec("free", None, evaluation=WANTED, **settings), data_root, tmp_path))
    network = TrainedEmbedder(tmp_path / "model").network.backbone
    images = np.array(packed.images)

    def layers(some):
        """Each layer of one view, from the activations before its block."""
        pixels = torch.from_numpy(np.ascontiguousarray(some)).permute(0, 3, 1, 2)
        pixels = augmentations.build("none", channels=1)(pixels, training=False)
        found = {}
        with torch.no_grad():
            for name in network.widths:
                block = {"last layer, GeM": "layers.9"}.get(name, name.removeprefix("before "))
                if name == "last layer":
                    found[name] = network.backbone.eval()(pixels)
                    continue
                maps = BeforeBlock(network.backbone, block)(pixels)
                cubed = name.endswith("GeM")
                found[name] = maps.clamp(min=1e-6).pow(3).mean((2, 3)).pow(1 / 3) if cubed else maps.mean((2, 3))
        return {name: torch.nn.functional.normalize(values).numpy() for name, values in found.items()}

    rows = training.data.rows
    of_rows = {name: values[:, None] for name, values in layers(images[rows]).items()}
    best = free.choose(of_rows, training.data.observed, "recall@1", size=12)
    described = json.loads((tmp_path / "model/model.json").read_text())
    assert described["chosen"] == str(best.chosen)
    assert len({one.features for one in best.scores}) == len(network.widths) > 2

    def embed(some):
        return best.embed({name: values[:, None] for name, values in layers(some).items()})

    # the candidate's own embedding has unit length already; views are joined after the projection
    kept = np.load(tmp_path / "embeddings.npz")
    views = [images[kept["index"]], images[kept["index"]][:, :, ::-1]]
    total = sum(embed(view).astype(float) for view in views)
    expected = total / np.linalg.norm(total, axis=1, keepdims=True)
    np.testing.assert_allclose(kept["embeddings"][:, : expected.shape[1]], expected, atol=1e-3)
    np.testing.assert_allclose(
        TrainedEmbedder(tmp_path / "model")(images[:9]),
        TrainedEmbedder(tmp_path / "model")(images[:9][:, :, ::-1]),
        atol=1e-5,
    )


def test_a_trial_with_both_views_and_a_refitted_head_resumes(stored, make_spec, data_root, tmp_path, finish):
    spec = make_spec(head_refit="whitening", evaluation=WANTED, **INPUTS["viewed"])
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    resumed = Training(spec, data_root, tmp_path / "broken")
    while not resumed.finished:
        resumed.advance()
        resumed.close()
        resumed = Training(spec, data_root, tmp_path / "broken")
    assert resumed.result().curve == whole.result().curve
    both = [np.load(tmp_path / name / "embeddings.npz")["embeddings"] for name in ("whole", "broken")]
    assert np.array_equal(*both)
