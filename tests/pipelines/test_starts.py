"""A study whose networks start from the models of another one."""

import json

import pandas as pd
import pytest

pytestmark = pytest.mark.slow

FIRST = "positives: [random, easy]"
START = """\
grid:
  training.init_from:
    - null
    - {study: first, cell: {positives: random}}
"""


def test_pretrained_against_from_scratch(project, refused, tiny):
    """Each seed starts from the model of the same seed; that of the search is of neither study."""
    project.study("first", tiny.replace(FIRST, "positives: [random]").replace("seeds: [0]", "seeds: [1, 2]"))
    second = tiny.replace(FIRST, "positives: [easy]").replace("seeds: [0]", "seeds: [2]") + START
    project.study("second", second)
    project.stages("download pack split corrupt", "second")
    message = refused(project.stage("sweep", "second"))
    assert "second.yaml:18: grid.training.init_from[1]: dataset 'digits': study 'first' has no results" in message
    assert "dml run first" in message

    project.stages("download pack split corrupt sweep", "first")
    for wrong, expected in (
        (
            second.replace("{positives: random}", "{loss: margin}"),
            "second.yaml:18: grid.training.init_from[1]: dataset 'digits': cell: no cell",
        ),
        (second.replace("backbone: mlp", "backbone: small_conv"), "the weights are of another backbone: "),
    ):
        project.study("second", wrong)
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
