"""The estimate of what a study keeps, against models on disk."""

import pytest

from dml import models
from dml.sweep.cost.estimate import kept_models
from dml.sweep.retention.models import SMALL
from dml.training.model_files import save_model

IMAGES = {"digits": {"digest": "", "height": 8, "width": 8, "channels": 1}}


@pytest.mark.parametrize("backbone", ["mlp", "small_conv"])
def test_the_estimate_is_the_files_size(toy_study, tmp_path, backbone):
    study = toy_study(training={"backbone": backbone, "embedding_size": 12}, resources={"keep_models": "all"})
    found = kept_models(study, IMAGES)
    save_model(tmp_path / "model", models.build(backbone, embedding_size=12, channels=1, image_size=8), {})
    real = (tmp_path / "model/model.safetensors").stat().st_size
    assert found.bytes_each <= real < found.bytes_each + 5000, "the file has a header too"
    assert (found.policy, found.models) == ("all", 4)
    assert found.bytes == found.peak_bytes == 4 * found.bytes_each


def test_policies_and_the_default(toy_study):
    resnet = {"backbone": {"name": "torchvision", "settings": {"name": "resnet50"}}}
    cells = [0.01 * rate for rate in range(12)]

    def kept(rates, **changes):
        study = toy_study(training=resnet, noise=[{"name": "uniform", "rates": rates}], **changes)
        return kept_models(study, IMAGES)

    few, many = kept(cells[:2]), kept(cells)
    assert (few.policy, few.models) == ("cells", 4)
    assert 90e6 < few.bytes_each < 110e6
    assert (many.policy, many.models, many.bytes) == ("best", 1, many.bytes_each)
    assert many.peak_bytes == 48 * many.bytes_each > SMALL
    assert kept(cells, resources={"keep_models": "cells"}).models == 24
