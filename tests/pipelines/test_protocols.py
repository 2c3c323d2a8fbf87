"""Train, validate and test, from a study's file to its report."""

import json

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow


def test_without_refitting_the_half_that_tuning_fits_is_trained(project, tiny):
    text = tiny.replace("{sampler: fixed}", "{sampler: fixed, protocol: train_val_test}").replace("[0]", "[1]")
    project.study("tiny", text.replace("[random, easy]", "[random]"))
    project.stages("download pack split corrupt sweep", "tiny")
    split = pd.read_parquet(project.root / "data/tiny/split/digits.parquet")
    noise = pd.read_parquet(project.root / "data/tiny/noise/digits.parquet")
    assert set(noise.loc[noise["phase"] == "tune", "seed"]) == {0, 1}
    fitted = split.loc[split["tune"] == "train", "index"]
    taken = noise[(noise["phase"] == "tune") & (noise["seed"] == 1)]
    np.testing.assert_array_equal(taken["index"], fitted)
    trials = pd.read_parquet(project.root / "results/tiny/trials.parquet")
    assert list(trials["phase"]) == ["confirm"]
    assert trials["test/fine/recall@1"].notna().all()
    spec = json.loads((project.root / "store/trials" / trials["key"][0] / "spec.json").read_text())["spec"]
    assert (spec["phase"], spec["protocol"]) == ("confirm", "train_val_test")
    assert project.stage("choose", "tiny").code == 0
    done = project.stage("report")
    assert done.code == 0, done.text
    assert "fitting half of the training classes" in (project.root / "report/studies/tiny.html").read_text()
