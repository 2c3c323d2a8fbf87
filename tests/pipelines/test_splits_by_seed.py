"""A source with several splits, of which a trial's seed selects one."""

import json

import pandas as pd
import pytest

pytestmark = pytest.mark.slow

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
