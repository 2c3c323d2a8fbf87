"""Training the upper blocks on stored activations, through the stages and on Ray's workers."""

import json

import numpy as np
import pandas as pd
import pytest

from dml.training.model_files import TrainedEmbedder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
STUDY = """\
title: Upper blocks
datasets: [{name: digits, train_on: coarse}]
noise: [{name: uniform, rates: [0.2]}]
losses: [triplet]
positives: [easy]
negatives: [random]
seeds: [0, 1]
search: {sampler: fixed}
grid: {training.train_from: [null, layers.3]}
training:
  backbone: {name: small_conv, settings: {width: 4}}
  augment: {name: random_resized_crop, settings: {image_size: 8}}
  embedding_size: 4
  steps: 4
  batch: {classes: 2, per_class: 4}
evaluation: {metrics: [recall@1, map@r], keep_embeddings: true}
"""


@pytest.fixture(scope="module")
def work(shared_project):
    """The project with the outputs of the stages before the sweep."""
    shared_project.study("mine", STUDY)
    shared_project.stages("resolve download pack split corrupt", "mine")
    return shared_project


def test_from_activations_to_whole_models(work):
    work.stages("features sweep", "mine")
    listed = json.loads((work.root / "data/mine/features.json").read_text())["digits"]
    folders = {name: work.root / "data/mine" / entry["folder"] for name, entry in listed.items()}
    arrays = {name: np.load(folder / "features.npy", mmap_mode="r") for name, folder in folders.items()}
    assert sorted((str(array.dtype), array.shape) for array in arrays.values()) == [
        ("float16", (1797, 4, 4, 8, 8)),
        ("float32", (1797, 16)),
    ]
    frame = pd.read_parquet(work.root / "results/mine/trials.parquet")
    assert (len(frame), set(frame["status"])) == (4, {"finished"})
    images = np.load(next((work.root / "store/packed").glob("*/images.npy")))
    for key in frame["key"][[(work.root / "store/trials" / key / "model").is_dir() for key in frame["key"]]]:
        folder = work.root / "store/trials" / key
        kept = np.load(folder / "embeddings.npz")
        expected = kept["embeddings"] / np.linalg.norm(kept["embeddings"], axis=1, keepdims=True)
        np.testing.assert_allclose(TrainedEmbedder(folder / "model")(images[kept["index"]]), expected, atol=5e-3)
    untrained = json.loads((work.root / "results/mine/summary.json").read_text())["untrained"]["digits"]
    (features,) = (name for name in folders if "layers.3" not in name)
    assert {"pixels", features, f"{features}, 4 components"} <= set(untrained)
