"""A study whose backbone loads weights from a file: errors come before the first trial."""

import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from dml import models

pytestmark = pytest.mark.slow

TINY = "{backbone: mlp, "
OWN = "{backbone: {name: mobilenet_v1, settings: {width: 0.25, weights: pipelines/weights/own.safetensors}}, "


def write(path, width):
    torch.manual_seed(0)
    save_file(models.find("mobilenet_v1")(channels=1, width=width).state_dict(), path)


def test_weights_from_a_file(project, refused, tiny):
    project.study("own", tiny.replace(TINY, OWN).replace("[random, easy]", "[random]"))
    message = refused(project.stage("resolve", "own"))
    assert (
        "own.yaml:13: training.backbone.settings: weights: pipelines/weights/own.safetensors: no such file" in message
    )

    path = project.root / "pipelines/weights/own.safetensors"
    write(path, width=0.5)
    project.stages("resolve download pack split corrupt", "own")
    message = refused(project.stage("sweep", "own"))
    assert "own.yaml:13: training.backbone.settings: " in message
    assert "own.safetensors: weights of another network: 135 of another shape: 'conv_stem.weight' has" in message
    assert not list(project.root.glob("store/trials/*/spec.json")), "nothing ran"

    write(path, width=0.25)
    project.stages("sweep", "own")
    trials = pd.read_parquet(project.root / "results/own/trials.parquet")
    assert list(trials["status"]) == ["finished"]
