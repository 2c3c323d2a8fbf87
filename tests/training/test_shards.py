"""A trial that trains from shards."""

import json
import os
import shutil

import pytest
import torch

from dml.data.shards import shard_packed
from dml.training.data import describe, open_packed_of
from dml.training.loop import Training

pytestmark = pytest.mark.slow

SIZE = 12 << 10


@pytest.mark.parametrize("stored", [True, False])
def test_a_trial_from_shards_has_the_numbers_of_one_from_the_mapped_array(make_spec, data_root, tmp_path, stored):
    root = tmp_path / "data"
    shutil.copytree(data_root, root)
    packed = open_packed_of(data_root, "digits").folder
    given = {"size": SIZE, "cache": 3 * SIZE, "storage": str(tmp_path / "storage") if stored else None}
    out = tmp_path / "store" / "packed" / "shards"
    manifest = shard_packed(packed, out, report=lambda line: None, **given)
    (root / "pack.json").write_text(json.dumps({"digits": {**manifest, "folder": os.path.relpath(out, root)}}))
    of = ("digits", "uniform", 0.3, 0, "tune")
    assert describe(root, *of) == describe(data_root, *of)  # so the trials have the same key
    found = []
    for place in (data_root, root):
        training = Training(make_spec(), place, tmp_path / f"trial-{len(found)}")
        while not training.finished:
            training.advance()
        found.append(training)
        training.close()
    one, other = found
    cache = other.data.packed.images.cache
    assert (cache.misses > 3) if stored else (cache is None)
    assert one.result().scores == other.result().scores
    losses = [training.diagnostics.means(training.step) for training in found]
    assert losses[0] == losses[1]
    others = other.model.state_dict()
    assert all(torch.equal(weights, others[name]) for name, weights in one.model.state_dict().items())
