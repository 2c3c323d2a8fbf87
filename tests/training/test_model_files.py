"""A trained network on disk, and its application to images."""

import json

import numpy as np
import pytest
import torch

from dml.training.loop import Training
from dml.training.model_files import TrainedEmbedder, load_model, save_model

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
