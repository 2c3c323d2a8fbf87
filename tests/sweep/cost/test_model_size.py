"""The estimate of what a study keeps, against models on disk."""

import pytest

from dml import models
from dml.sweep.cost import kept_models
from dml.training.model_files import save_model

IMAGES = {"digits": {"digest": "", "height": 8, "width": 8, "channels": 1}}


@pytest.mark.parametrize("backbone", ["mlp", "small_conv"])
def test_the_estimate_is_the_files_size(toy_study, tmp_path, backbone):
    study = toy_study(training={"backbone": backbone, "embedding_size": 12})
    count, size = kept_models(study, IMAGES)
    save_model(tmp_path / "model", models.build(backbone, embedding_size=12, channels=1, image_size=8), {})
    real = (tmp_path / "model/model.safetensors").stat().st_size
    assert count == len(study.cells())
    assert size <= count * real < size + count * 5000, "the file has a header too"
