"""Studies from their file to their trials, on one Ray: several class splits, splits by seed, models to start from."""

import json

import pandas as pd
import pytest

from dml.config import load_study
from dml.report.analysis.untrained import gain_of_best
from dml.report.loading import load

pytestmark = pytest.mark.slow

SPLITS = """\
title: A study of seconds
datasets: [digits]
losses: [triplet, contrastive]
seeds: [0, 1]
class_splits: {folds: 3}
search: {sampler: tpe, trials: 2, objective: map@r}
resources: {concurrent: 1}
training: {backbone: mlp, embedding_size: 4, steps: 3, batch: {classes: 2, per_class: 4}}
evaluation: {metrics: [map@r]}
"""
SOURCE = '''
import numpy as np
from dml.data.sources.bundled import Digits


class Turned(Digits):
    """Seeds 0 to 2 turn the digits: with seed s, the six digits from s on train."""

    seeds = range(3)
    turn = 0

    def for_seed(self, seed):
        chosen = Turned(**self.options)
        chosen.turn = seed
        return chosen

    def roles(self, index):
        return np.where((index["fine"].to_numpy() - self.turn) % 10 < 6, "train", "test")
'''
FIRST = "positives: [random, easy]"
START = """\
grid:
  training.init_from:
    - null
    - {study: first, cell: {positives: random}}
"""


def test_each_class_split_is_tuned_and_confirmed_by_itself(project, refused):
    project.study("tiny", SPLITS.replace("{folds: 3}", "3"))
    project.stages("download pack", "tiny")
    assert "so at most 2 splits test different classes, got 3" in refused(project.stage("split", "tiny"))
    project.study("tiny", SPLITS)
    project.stages("resolve split corrupt features sweep", "tiny")

    trials = pd.read_parquet(project.root / "results/tiny/trials.parquet")
    assert list(trials["status"]) == ["finished"] * 2 * 3 * (2 + 2)
    assert trials.groupby(["cell", "split", "phase"]).size().eq(2).all()
    specs = {k: json.loads((project.root / f"store/trials/{k}/spec.json").read_text())["spec"] for k in trials["key"]}
    digests = trials["key"].map(lambda key: specs[key]["dataset"]["split"])
    assert digests.groupby(trials["split"]).nunique().eq(1).all()
    assert digests.nunique() == 3
    settings = trials[trials["phase"] == "confirm"].groupby(["cell", "split"])["settings"]
    assert settings.nunique().eq(1).all()
    assert settings.first().nunique() > 2, "each split has its own settings"

    study = load_study(project.root / "pipelines/studies/tiny.yaml")
    results = load(study, project.root / "results/tiny")
    key = "test/fine/map@r"
    for name in results.cells:
        own = results.confirmed_of(name)
        assert results.values(name, key).index.tolist() == [0, 1, 2]
        assert results.values(name, key)[1] == pytest.approx(100 * own.loc[own["split"] == 1, key].mean())
    gain = gain_of_best(results, "digits", "uniform", 0.0, key)
    best = results.values(gain.best, key)
    assert gain.gain.n == 3
    assert gain.gain.mean == pytest.approx(best.mean() - gain.untrained.score)
    assert gain.gain.std != pytest.approx(best.std()), "the baseline is that of each split"


def test_each_seed_has_its_own_split_from_the_file_to_the_scores(project, refused, tiny):
    (project.root / "pipelines/turned.py").write_text(SOURCE)
    text = tiny.replace("name: digits\n    train_on: coarse", "name: turned.Turned\n    id: turned")
    text = text.replace("[random, easy]", "[random]").replace("seeds: [0]", "seeds: [0, 2]")
    project.study("tiny", text.replace("[0, 2]", "[3]"))
    project.stages("download pack split", "tiny")
    message = refused(project.stage("corrupt", "tiny"))
    assert "dataset 'turned': seeds select its split, and 3 selects none. Choices: 0, 1, 2" in message
    project.study("tiny", text)
    project.stages("corrupt", "tiny")

    root = project.root / "data/tiny"
    pack = json.loads((root / "pack.json").read_text())["turned"]
    fine = pd.read_parquet(root / pack["folder"] / "index.parquet")["fine"].to_numpy()
    noise = pd.read_parquet(root / "noise/turned.parquet")
    for seed, trained in ((0, {0, 1, 2, 3, 4, 5}), (2, {2, 3, 4, 5, 6, 7})):
        split = pd.read_parquet(root / f"split/turned/{seed}.parquet")
        assert set(fine[split.loc[split["final"] == "train", "index"]]) == trained
        confirm = noise[(noise["phase"] == "confirm") & (noise["seed"] == seed)]
        assert set(fine[confirm["index"]]) == trained
    for phase, observed in (("tune", {0, 1, 2}), ("validation", {3, 4, 5})):
        of_phase = noise[noise["phase"] == phase]
        assert set(of_phase["observed"]) == observed
        assert set(fine[of_phase["index"]]) == {0, 1, 2, 3, 4, 5}

    project.stages("sweep", "tiny")
    trials = pd.read_parquet(project.root / "results/tiny/trials.parquet")
    assert list(trials["status"]) == ["finished"] * 2
    specs = [json.loads((project.root / f"store/trials/{key}/spec.json").read_text())["spec"] for key in trials["key"]]
    assert len({spec["dataset"]["split"] for spec in specs}) == 2
    assert len({spec["dataset"]["packed"] for spec in specs}) == 1


def test_pretrained_against_from_scratch(project, refused, tiny):
    """Each seed starts from the model of the same seed; that of the search is of neither study."""
    project.study("first", tiny.replace(FIRST, "positives: [random]").replace("seeds: [0]", "seeds: [1, 2]"))
    second = tiny.replace(FIRST, "positives: [easy]").replace("seeds: [0]", "seeds: [2]") + START
    project.study("second", second)
    project.stages("download pack split corrupt", "second")
    message = refused(project.stage("sweep", "second"))
    where = "second.yaml:18: grid.training.init_from[1]: dataset 'digits'"
    assert f"{where}: study 'first' has no results" in message
    assert "dml run first" in message

    project.stages("download pack split corrupt sweep", "first")
    for right, wrong, expected in (
        ("{positives: random}", "{loss: margin}", f"{where}: cell: no cell"),
        ("backbone: mlp", "backbone: small_conv", "the weights are of another backbone: "),
    ):
        project.study("second", second.replace(right, wrong))
        assert expected in refused(project.stage("sweep", "second"))
    assert len(list(project.root.glob("store/trials/*/spec.json"))) == 2, "nothing ran"

    project.study("second", second)
    project.stages("sweep", "second")
    trials = pd.read_parquet(project.root / "results/second/trials.parquet")
    assert list(trials["status"]) == ["finished"] * 2
    first = pd.read_parquet(project.root / "results/first/trials.parquet")
    first = first.loc[first["seed"] == 2, "key"].item()
    records = [
        json.loads((project.root / f"store/trials/{key}/spec.json").read_text())["spec"] for key in trials["key"]
    ]
    starts = [record["training"].get("start") for record in records]
    assert starts[0] is None
    assert set(starts[1]) == {"weights", "head"}
    assert (project.root / f"store/trials/{first}/model/model.safetensors").is_file()
    assert project.run("python", "pipelines/why.py", "second").text.count("nothing runs again") == 1
