"""The study as it ran comes back from its results, with today's title."""

from pathlib import Path

import pytest

from dml.config import load_study
from dml.config.loading import record, recorded

STUDIES = sorted((Path(__file__).parents[2] / "pipelines/studies").glob("*.yaml"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_study_comes_back_as_it_ran(path):
    study = load_study(path)
    assert study.name == path.stem
    text = record(study)
    other = study.model_copy(update={"title": "Another", "seeds": [77], "losses": study.losses[:1]})
    found = recorded(text, other)
    assert found == study.model_copy(update={"title": "Another"})
    assert found.cells() == study.cells() != []
    assert found.digest == study.digest
    assert record(found) == text
    assert study.title not in text
