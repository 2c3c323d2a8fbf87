"""The pages that several processes make are those that one makes."""

from pathlib import Path

import pytest
from synthetic import contents

from dml.report import parallel
from dml.report.parallel import study_pages, workers
from dml.report.results import Results

NAMES = ("noise-clean-grid", "histogram-pairs", "loop-points-long")


def made(results: list[Results], folder: Path, broken: bool = False):
    if broken:
        results[1].trials.drop(columns="seconds", inplace=True)
    with workers(len(results)) as pool:
        return [page() for page in study_pages(pool, results, folder)]


@pytest.mark.slow
def test_pages_and_files_are_the_same(published, tmp_path, monkeypatch):
    results = [published(name) for name in NAMES]
    alone = made(results, tmp_path / "alone")
    monkeypatch.setattr(parallel, "MANY", 2)
    monkeypatch.setattr(parallel, "study_page", None)  # the others import their own
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    beside = made(results, tmp_path / "beside")
    assert [page.name for page in beside] == list(NAMES)
    assert [page.sections for page in beside] == [page.sections for page in alone]
    found = contents(tmp_path / "alone")
    assert len(found) > 20
    assert contents(tmp_path / "beside") == found
    with pytest.raises(KeyError, match="seconds"):
        made(results, tmp_path / "broken", broken=True)
