"""What the report reads of a trial's folder."""

from dataclasses import replace

import numpy as np


def test_embeddings_are_what_the_file_contains(synthetic, loaded, tmp_path):
    study = synthetic.plane_study(seeds=1)
    results = replace(loaded(study), store=tmp_path / "store")
    key = results.embedded(next(iter(results.cells)))
    assert set(results.embeddings(key)) == {"embeddings", "labels_fine", "labels_coarse", "set"}, "an older file"
    assert results.embeddings(key, start=True) == {}
    path = tmp_path / "store" / "trials" / key / "embeddings_start.npz"
    np.savez(path, embeddings=np.eye(2), index=np.array([5, 7]))
    assert results.embeddings(key, start=True)["index"].tolist() == [5, 7]
