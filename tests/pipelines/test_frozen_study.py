"""Frozen features and a user's own vectors through the stages, in one study."""

import json

import numpy as np
import pandas as pd
import pytest
from stages import nearest_share

from dml.training.model_files import TrainedEmbedder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
STUDY = """\
title: Frozen features and vectors
datasets:
  - digits
  - name: features
    settings: {vectors: own/x.npy, table: own/labels.csv}
noise:
  - {name: similarity, rates: [0.0], settings: {neighbours: 1}}
losses: [triplet]
positives: [easy]
negatives: [random]
seeds: [0]
search: {sampler: fixed}
resources: {concurrent: 1}
training: {frozen: true, embedding_size: 4, steps: 3, batch: {classes: 2, per_class: 4}}
evaluation: {metrics: [recall@1, map@r], keep_embeddings: true}
"""
WIDTH = 6


@pytest.fixture(scope="module")
def work(shared_project):
    """The project with the study's vectors, after all stages before the sweep."""
    own = shared_project.root / "own"
    own.mkdir()
    labels = np.repeat(np.arange(8), 10)
    np.save(own / "x.npy", np.random.default_rng(0).normal(size=(80, WIDTH)) + labels[:, None])
    pd.DataFrame({"fine": [f"class {label}" for label in labels]}).to_csv(own / "labels.csv", index=False)
    shared_project.study("mine", STUDY)
    shared_project.track()
    shared_project.stages("resolve download pack split corrupt", "mine")
    return shared_project


def test_from_features_to_models(work):
    work.stages("features sweep", "mine")
    listed = json.loads((work.root / "data/mine/features.json").read_text())
    (folder,) = (entry["folder"] for entry in listed["digits"].values())
    stored = np.load(work.root / "data/mine" / folder / "features.npy", mmap_mode="r")
    assert stored.shape == (1797, 64)
    assert listed["features"] == {}, "vectors are used as they are packed"

    frame = pd.read_parquet(work.root / "results/mine/trials.parquet").set_index("dataset")
    assert set(frame["status"]) == {"finished"}
    shapes = {"digits": (8, 8, 1), "features": (WIDTH,)}
    for dataset, shape in shapes.items():
        folder = work.root / "store/trials" / frame.loc[dataset, "key"]
        embed = TrainedEmbedder(folder / "model")
        inputs = np.zeros((3, *shape), np.uint8 if len(shape) == 3 else np.float32)
        assert embed(inputs).shape == (3, 4)
    kept = np.load(folder / "embeddings.npz")
    expected = np.load(work.root / "own/x.npy").astype(np.float32)[kept["index"]]
    embeddings = kept["embeddings"] / np.linalg.norm(kept["embeddings"], axis=1, keepdims=True)
    np.testing.assert_allclose(embed(expected), embeddings, atol=1e-5)
    with pytest.raises(ValueError, match=r"expected float vectors of shape \(N, 6\), got uint8 of shape \(3, 6\)"):
        embed(np.zeros((3, WIDTH), np.uint8))


def test_features_and_vectors_are_scored_without_training(work):
    found = json.loads((work.root / "results/mine/summary.json").read_text())["untrained"]
    assert set(found) == {"digits", "features"}
    assert list(found["features"]) == ["vectors", "vectors, 4 components"]
    name, shortened = found["digits"]
    assert shortened == f"{name}, 4 components"
    data = work.root / "data/mine"
    (entry,) = json.loads((data / "features.json").read_text())["digits"].values()
    assert entry["folder"].endswith(name)
    inputs = {"digits": np.load(data / entry["folder"] / "features.npy"), "features": np.load(work.root / "own/x.npy")}
    for dataset, own in found.items():
        split = pd.read_parquet(data / f"split/{dataset}.parquet")
        rows, learned = (split.loc[split["final"] == role, "index"].to_numpy() for role in ("test", "train"))
        packed = data / json.loads((data / "pack.json").read_text())[dataset]["folder"]
        labels = pd.read_parquet(packed / "index.parquet")["fine"].to_numpy()[rows]
        vectors = inputs[dataset].astype(np.float64)
        expected = [vectors[rows], components(vectors[learned], 4)(vectors[rows])]
        for scores, tested in zip(own.values(), expected, strict=True):
            assert scores["test/fine/recall@1"] == pytest.approx(nearest_share(tested, labels), abs=2e-3)
            assert set(scores) == {"test/fine/recall@1", "test/fine/map@r"}
        full, short = (scores["test/fine/map@r"] for scores in own.values())
        assert abs(full - short) > 0.005


def components(learned, count):
    """The projection to the principal components of some vectors (n, D)."""
    mean = learned.mean(axis=0)
    _, vectors = np.linalg.eigh((learned - mean).T @ (learned - mean))
    return lambda tested: (tested - mean) @ vectors[:, ::-1][:, :count]
