"""The process beside a sweep: whatever becomes of it, the sweep is as without it."""

import pytest

from dml.pipeline.syncing import Place, syncing

pytestmark = pytest.mark.slow


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A study without a file, so that the process ends with an error."""
    monkeypatch.chdir(tmp_path)
    return Place.of("nothing")


def test_a_process_that_fails_fails_nothing(nowhere, capfd):
    with syncing(nowhere):
        pass
    assert "pipelines/studies/nothing.yaml" in capfd.readouterr().err
