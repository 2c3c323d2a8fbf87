"""A trained network on disk, applied to images or to a user's own vectors."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from stages import split_and_corrupt

from dml.data import sources
from dml.data.packing import pack
from dml.training import data as trial_data
from dml.training.loop import Training
from dml.training.model_files import TrainedEmbedder, load_model, save_model
from dml.types import BatchSpec, DatasetSpec, EvaluationSpec, LossSpec, MinerSpec, NoiseSpec, TrainingSpec, TrialSpec

pytestmark = pytest.mark.slow


def test_a_model_is_weights_and_a_description(tmp_path):
    model = torch.nn.Linear(3, 2)
    save_model(tmp_path, model, {"network": {"width": 3}})
    weights, description = load_model(tmp_path)
    assert torch.equal(weights["weight"], model.weight)
    assert description == json.loads((tmp_path / "model.json").read_text()) == {"network": {"width": 3}}


def test_a_confirmed_trial_saves_a_model_that_embeds_as_it_did(make_spec, data_root, tmp_path, finish):
    training = finish(Training(make_spec(evaluation={"keep_embeddings": True}), data_root, tmp_path))
    rows = training.data.evaluation_rows("seen")
    kept = np.load(tmp_path / "embeddings.npz")
    seen = kept["set"] == "seen"
    np.testing.assert_array_equal(kept["index"][seen], rows)
    assert kept["index"].dtype == np.int64
    np.testing.assert_array_equal(np.unique(kept["set"]), ["seen", "test"])
    np.testing.assert_array_equal(kept["labels_fine"][seen], training.data.labels("fine", rows))
    own = torch.nn.functional.normalize(torch.from_numpy(kept["embeddings"][seen])).numpy()
    embedder = TrainedEmbedder(tmp_path / "model")
    np.testing.assert_allclose(embedder(training.data.packed.images[rows]), own, atol=1e-6)


WIDTH = 6
TRAINING = TrainingSpec(
    backbone="identity",
    frozen=True,
    embedding_size=4,
    steps=100,
    batch=BatchSpec(classes=4, per_class=8),
    learning_rate=0.01,
)


@pytest.fixture(scope="module")
def given():
    """Vectors around the centres of eight classes, in the order of classes."""
    draw, labels = np.random.default_rng(0), np.repeat(np.arange(8), 20)
    return (draw.normal(size=(8, WIDTH))[labels] * 2 + draw.normal(size=(160, WIDTH))).astype(np.float32), labels


@pytest.fixture(scope="module")
def root(given, tmp_path_factory):
    """The outputs of the data stages; the stage `features` has nothing to write."""
    base = tmp_path_factory.mktemp("vectors")
    np.save(base / "x.npy", given[0])
    pd.DataFrame({"fine": given[1]}).to_csv(base / "labels.csv", index=False)
    source = sources.build("features", vectors=str(base / "x.npy"), table=str(base / "labels.csv"))
    manifest = pack(source, base, base / "packed", report=lambda line: None)
    (base / "pack.json").write_text(json.dumps({"mine": {**manifest, "folder": "packed"}}))
    split_and_corrupt(base, "mine", source, "fine")
    return base


@pytest.fixture
def make(root):
    """Makes the spec of a trial with some fields of `TRAINING` changed."""

    def spec(**changes):
        return TrialSpec(
            phase="confirm",
            seed=0,
            dataset=DatasetSpec("mine", **trial_data.describe(root, "mine", "uniform", 0.0, 0, "confirm")),
            noise=NoiseSpec("uniform", 0.0),
            loss=LossSpec("triplet"),
            miner=MinerSpec("easy", "semihard_random"),
            training=replace(TRAINING, **changes),
            evaluation=EvaluationSpec(keep_embeddings=True, sets=("test", "train")),
        )

    return spec


def test_a_head_learns_on_vectors_and_its_model_embeds_vectors(make, root, given, tmp_path, finish):
    untrained = finish(Training(make(steps=0), root, tmp_path / "start")).result().scores
    training = finish(Training(make(), root, tmp_path / "made"))
    assert training.result().scores["train/fine/map@r"] > untrained["train/fine/map@r"] + 0.05
    assert {name.partition(".")[0] for name in load_model(tmp_path / "made" / "model")[0]} == {"head"}

    kept = np.load(tmp_path / "made" / "embeddings.npz")
    embed = TrainedEmbedder(tmp_path / "made" / "model")
    expected = kept["embeddings"] / np.linalg.norm(kept["embeddings"], axis=1, keepdims=True)
    np.testing.assert_allclose(embed(given[0][kept["index"]]), expected, atol=1e-5)
    assert embed(np.zeros((0, WIDTH), np.float32)).shape == (0, 4)
