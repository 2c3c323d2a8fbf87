"""The estimate of what a study keeps, against models on disk."""

import pytest

from dml import models
from dml.sweep.cost import kept_models
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
