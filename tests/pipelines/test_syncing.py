"""The process beside a sweep: whatever becomes of it, the sweep is as without it."""

import pytest

from dml.pipeline.syncing import Place, syncing

pytestmark = pytest.mark.slow


def test_a_process_that_fails_fails_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    with syncing(Place.of("nothing")):  # a study without a file, so that the process ends with an error
        pass
    assert "pipelines/studies/nothing.yaml" in capfd.readouterr().err
