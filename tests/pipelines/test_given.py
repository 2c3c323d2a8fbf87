"""A table with labels as given through the data stages, in this process: who trains on what, and what is refused."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml.config import load_study
from dml.training import data as trial_data
from dml.types import DatasetSpec, LossSpec, NoiseSpec, TrialSpec

pytestmark = pytest.mark.slow

STUDY = """\
title: Given
datasets:
  - {name: imagefolder, id: pets, settings: {root: photos, table: table.csv}, evaluate_on: [LEVEL]}
noise:
NOISE
losses: [triplet]
seeds: [0]
"""
FIXED = "search: {sampler: fixed}\n"
NOISES = (
    "  - {name: given, rates: [0.214]}\n  - {name: uniform, rates: [0.0, 0.214]}\n  - {name: subset, rates: [0.214]}"
)


@pytest.fixture
def stages(tmp_path, monkeypatch):
    """A function that writes a table of 56 images and a study, runs the data stages, and returns the study."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()

    def run(table, noise=NOISES, level="fine", more="", search=FIXED):
        for number, path in enumerate(table["path"]):
            Image.fromarray(np.full((8, 8), 4 * number, np.uint8)).save(tmp_path / "photos" / path)
        table.to_csv("table.csv", index=False)
        Path("pets.yaml").write_text(STUDY.replace("NOISE", noise).replace("LEVEL", level) + more + search)
        study = load_study("pets.yaml")
        for name in ("download", "pack", "split", "corrupt"):
            importlib.import_module(f"dml.pipeline.{name}").run(study)
        return study

    return run


def made():
    """56 images of 8 kinds, 7 each, in a random order. People gave 6 of them another label."""
    fine = np.array(list("abcdefgh")).repeat(7)
    given = fine.copy()
    given[[0, 7, 8, 14, 35, 42]] = list("bahaab")
    table = pd.DataFrame({"path": [f"{n:02d}.png" for n in range(56)], "fine": fine, "given": given})
    return table.iloc[np.random.default_rng(0).permutation(56)].reset_index(drop=True)


def rows_of(study, noise, rate, phase="confirm"):
    table = pd.read_parquet(f"data/{study.name}/noise/pets.parquet")
    found = table[(table["noise"] == noise) & np.isclose(table["rate"], rate) & (table["phase"] == phase)]
    return found.sort_values("index").reset_index(drop=True)


def test_each_noise_model_trains_on_its_own_images(stages):
    table = made()
    number = {label: place for place, label in enumerate("abcdefgh")}
    trains = table["given"].isin(list("abcd"))
    wrong = (table["given"] != table["fine"])[trains]
    rate = round(float(wrong.mean()), 3)
    study = stages(table, NOISES.replace("0.214", str(rate)))
    given, uniform = rows_of(study, "given", rate), rows_of(study, "uniform", rate)
    assert given["index"].tolist() == table.index[trains].tolist()
    assert given["observed"].tolist() == table["given"][trains].map(number).tolist()
    assert given["flipped"].tolist() == wrong.tolist()
    assert uniform["index"].tolist() == table.index[table["fine"].isin(list("abcd"))].tolist()
    split = trial_data.split_of(Path("data/pets"), "pets")
    tested = split.loc[split["final"] == "test", "index"]
    assert set(tested) == set(table.index[table["fine"].isin(list("efgh"))]) - set(given["index"])
    fitting = rows_of(study, "given", rate, "tune")
    assert set(table["given"][fitting["index"]]) == {"a", "b"}
    validating = split.loc[split["tune"] == "validation", "index"]
    assert set(table["fine"][validating]) == {"c", "d"}
    assert not set(validating) & set(fitting["index"])


@pytest.mark.parametrize("validation", ["observed", "true_labels"])
def test_labels_that_choose_are_as_wrong_as_those_that_train(stages, validation):
    """`given` and `uniform` noise: an image validates if its observed class does, and counts by it."""
    table = made()
    table.loc[table.index[table["fine"] == "c"][:2], "given"] = "d"
    trains = table["given"].isin(list("abcd"))
    rate = round(float((table["given"] != table["fine"])[trains].mean()), 3)
    search = f"search: {{trials: 1, validation: {validation}}}\n"
    study = stages(table, NOISES.replace("0.214", str(rate)), search=search)
    number = table["given"].map({label: place for place, label in enumerate("abcdefgh")}).to_numpy()
    for noise, clean in (("given", number), ("uniform", None)):
        digests = trial_data.describe(Path("data/pets"), "pets", noise, rate, 0, "tune")
        dataset = DatasetSpec("pets", **digests)
        data = trial_data.open_data(
            TrialSpec("tune", 0, dataset, NoiseSpec(noise, rate), LossSpec("triplet")), Path("data/pets")
        )
        rows = data.evaluation_rows("validation")
        found = data.scored_labels("validation", "fine", rows)
        whole = rows_of(study, noise, rate, "tune")
        if validation == "true_labels":
            assert data.validation is None
            assert found.tolist() == data.labels("fine", rows).tolist()
            continue
        chosen = rows_of(study, noise, rate, "validation")
        assert set(found) == {2, 3}
        assert set(whole["observed"]) == {0, 1}
        assert dict(zip(rows, found, strict=True)) == dict(zip(chosen["index"], chosen["observed"], strict=True))
        assert found.tolist() != data.labels("fine", rows).tolist()
        if clean is not None:
            assert found.tolist() == clean[rows].tolist()
            assert set(rows) == set(table.index[table["given"].isin(["c", "d"])])
        else:
            assert len(whole) + len(chosen) == (table["fine"].isin(list("abcd"))).sum()
            together = pd.concat([whole, chosen])
            assert together["flipped"].mean() == pytest.approx(rate, abs=0.02)
    clean = trial_data.open_data(
        TrialSpec("tune", 0, dataset, NoiseSpec("uniform", 0.0), LossSpec("triplet")), Path("data/pets")
    )
    assert clean.validation is None


def test_folds_test_each_class_by_its_verified_labels_and_train_on_given_ones(stages):
    table = made()
    folds = "class_splits: {folds: 2}\n"
    with pytest.raises(ValueError, match=r"mean of 2 class splits: 0\.\d+, 0\.\d+\), the rate says 0.6: expected"):
        stages(table, "  - {name: given, rates: [0.6]}", more=folds)
    shares, tested = [], []
    for name in ("pets", "pets@1"):
        split = trial_data.split_of(Path("data/pets"), name)
        rows = pd.read_parquet(f"data/pets/noise/{name}.parquet").query("phase == 'confirm'")
        images = table.iloc[rows["index"]]
        held_out = table.iloc[split.loc[split["final"] == "test", "index"]]
        wrong = (images["given"] != images["fine"]).to_numpy()
        assert not set(images["given"]) & set(held_out["fine"])
        assert not set(images.index) & set(held_out.index)
        assert rows["flipped"].tolist() == wrong.tolist()
        assert len(held_out) == 28 - (~images["fine"].isin(set(images["given"]))).sum()
        tested += sorted(set(held_out["fine"]))
        shares.append(wrong.mean())
    assert sorted(tested) == list("abcdefgh")
    stages(table, f"  - {{name: given, rates: [{np.mean(shares):.3f}]}}", more=folds)
