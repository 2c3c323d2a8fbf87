"""Estimated rates of wrong labels: close where classes are easy to tell, and blind to clean labels."""

import numpy as np
import pandas as pd
import pytest
from stages import pack_digits

from dml import noise
from dml.data.packing import open_packed
from dml.sweep.inputs.rates import Rates
from dml.types import DatasetSpec, FilterSpec, LossSpec, NoiseSpec, TrialSpec

pytestmark = pytest.mark.slow

RATE = 0.4


@pytest.fixture(params=[4])
def root(tmp_path, request):
    """The outputs of the data stages: every fourth digit trains, or more, with 40% wrong labels."""
    fine = pack_digits(tmp_path)["fine"].to_numpy()
    for name in ("split", "noise"):
        (tmp_path / name).mkdir()
    rows = np.arange(0, len(fine), request.param)
    split = pd.DataFrame({"index": rows, "final": "train", "tune": "train"})
    split.to_parquet(tmp_path / "split/digits.parquet", index=False)
    table = noise.table(rows, fine[rows], [("uniform", RATE, {})], (0, 1), "confirm")
    table.to_parquet(tmp_path / "noise/digits.parquet", index=False)
    return tmp_path


def trial(seed=0):
    data = DatasetSpec("digits", packed="packed", split="split", labels=f"labels{seed}")
    estimated = FilterSpec("prism", {"rate": "estimated"})
    return TrialSpec("confirm", seed, data, NoiseSpec("uniform", RATE), LossSpec("triplet"), filter=estimated)


@pytest.mark.parametrize("root", [1], indirect=True)
def test_the_estimate_is_close_and_is_made_once(root):
    said = []
    found = [Rates(root, root / "store", said.append)(trial(seed)) for seed in (0, 1, 0)]
    assert found[0] == found[2]
    assert all(abs(rate - RATE) < 0.05 for rate in found)
    assert len(said) == 2
    assert "digits, uniform, seed 0, confirm" in said[0]
    assert Rates(root, root / "store").stored(trial()) == found[0]
    assert Rates(root, root / "elsewhere").stored(trial()) == "estimated"


def test_no_clean_label_is_read(root):
    """With other clean labels, and with what is known to be wrong turned round, the estimate is the same."""
    before = Rates(root, root / "store")(trial())
    index = next((root / "packed").glob("index*"))
    clean = pd.read_parquet(index)
    clean["fine"] = np.random.default_rng(0).permutation(clean["fine"].to_numpy())
    clean.to_parquet(index, index=False)
    table = pd.read_parquet(root / "noise/digits.parquet")
    table.assign(flipped=~table["flipped"]).to_parquet(root / "noise/digits.parquet", index=False)
    assert Rates(root, root / "again")(trial()) == before
    changed = open_packed(root / "packed").index["fine"].to_numpy()[table["index"]]
    assert (changed != table["observed"]).mean() > 0.8, "the clean labels were changed where they are read"


def test_the_observed_labels_are_read(root):
    table = pd.read_parquet(root / "noise/digits.parquet")
    right = open_packed(root / "packed").index["fine"].to_numpy()[table["index"]]
    table.assign(observed=right).to_parquet(root / "noise/digits.parquet", index=False)
    assert Rates(root, root / "store")(trial()) < 0.05
