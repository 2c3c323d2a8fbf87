"""A study with several class splits, from its file to its page."""

import json

import pandas as pd
import pytest

from dml.config import load_study
from dml.report.analysis.untrained import gain_of_best
from dml.report.loading import load

pytestmark = pytest.mark.slow

STUDY = """\
title: A study of seconds
datasets: [digits]
losses: [triplet, contrastive]
seeds: [0, 1]
class_splits: {folds: 3}
search: {sampler: tpe, trials: 2, objective: map@r}
training: {backbone: mlp, embedding_size: 4, steps: 3, batch: {classes: 2, per_class: 4}}
evaluation: {metrics: [map@r]}
"""


def test_each_class_split_is_tuned_and_confirmed_by_itself(project, refused):
    project.study("tiny", STUDY.replace("{folds: 3}", "3"))
    project.stages("download pack", "tiny")
    assert "so at most 2 splits test different classes, got 3" in refused(project.stage("split", "tiny"))
    project.study("tiny", STUDY)
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
