"""`dvc exp run -S` changes a setting of a study's file: the rest stays as it is, and a mistake is found."""

import shutil
from pathlib import Path

import pytest
from dvc.utils.hydra import apply_overrides

from dml.config import load_study

pytestmark = pytest.mark.slow

STUDIES = Path(__file__).parents[2] / "pipelines/studies"


@pytest.fixture
def studies(tmp_path):
    """Copies of all studies."""
    shutil.copytree(STUDIES, tmp_path / "studies")
    return tmp_path / "studies"


def test_settings_inside_sections_and_lists_are_changed(studies):
    path = studies / "quickstart.yaml"
    apply_overrides(
        path, ["training.steps=100", "seeds=[0,1]", "+training.schedule=cosine", "noise.0.rates=[0.0,0.2,0.4,0.5]"]
    )
    study = load_study(path)
    assert (study.training.steps, study.seeds, study.training.schedule) == (100, [0, 1], "cosine")
    assert study.noise[0].rates == [0.0, 0.2, 0.4, 0.5]
