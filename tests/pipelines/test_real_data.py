"""MNIST and the full Omniglot through the data stages, with the papers' counts. Needs their archives (`DML_MIRROR`)."""

import pandas as pd
import pytest

from dml.training.data import open_packed_of

pytestmark = [pytest.mark.slow, pytest.mark.minutes]

STUDY = """\
title: Real data
datasets:
  - {name: omniglot, resize: 28, train_on: fine, evaluate_on: [fine, coarse]}
  - {name: mnist, resize: 28, train_on: coarse, evaluate_on: [fine]}
noise: [{name: uniform, rates: [0.4]}]
losses: [triplet]
positives: [easy]
negatives: [random]
seeds: [0]
search: {sampler: fixed, level: fine}
training: {backbone: small_conv, batch: {classes: 2, per_class: 2}}
"""


@pytest.fixture(scope="module")
def outputs(shared_project, mirror):
    """The split joined with the packed index, and the labels observed when settings are confirmed, by dataset."""
    shared_project.study("real", STUDY)
    shared_project.stages("download pack split corrupt", "real", DML_MIRROR=mirror)
    root = shared_project.root / "data/real"

    def read(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        packed = open_packed_of(root, name)
        table = pd.read_parquet(root / f"split/{name}.parquet").merge(packed.index, on="index", validate="one_to_one")
        assert packed.images.shape[:3] == (len(table), 28, 28)
        noise = pd.read_parquet(root / f"noise/{name}.parquet")
        return table, noise[noise["phase"] == "confirm"]

    return read


def test_omniglot_is_split_by_alphabets(outputs):
    table, noise = outputs("omniglot")
    train, test = (table[table["final"] == role] for role in ("train", "test"))
    assert len(table) == len(train) + len(test)
    assert (len(train), train["fine"].nunique(), train["coarse_name"].nunique()) == (19280, 964, 30)
    assert (len(test), test["fine"].nunique(), test["coarse_name"].nunique()) == (13180, 659, 20)
    assert not set(train["coarse_name"]) & set(test["coarse_name"])
    fits, validates = (train[train["tune"] == role] for role in ("train", "validation"))
    assert len(fits) + len(validates) == 19280
    assert fits["coarse"].nunique() == validates["coarse"].nunique() == 15
    assert not set(fits["coarse"]) & set(validates["coarse"])
    assert (len(noise), noise["flipped"].sum()) == (19280, round(0.4 * 19280))


def test_mnist_trains_on_the_digits_0_to_5(outputs):
    table, noise = outputs("mnist")
    assert len(table) == 70000
    counts = {role: len(rows) for role, rows in table.groupby("final")}
    assert counts == {"train": 36017, "seen": 6031, "test": 3969, "unused": 23983}
    digits = {role: sorted(set(rows["fine"])) for role, rows in table.groupby("final")}
    assert digits["train"] == digits["seen"] == [0, 1, 2, 3, 4, 5]
    assert digits["test"] == [6, 7, 8, 9]
    assert set(noise["observed"]) == {0, 1}
    assert (len(noise), noise["flipped"].sum()) == (36017, round(0.4 * 36017))
