"""The pages that several processes make are those that one makes."""

from concurrent.futures import Executor
from pathlib import Path

import pytest
from synthetic import contents

from dml.report import site
from dml.report.results import Results
from dml.report.site import Job, study_pages, workers

NAMES = ("histogram-pairs", "histogram-classifier-numbers")


def made(pool: Executor | None, results: list[Results], folder: Path):
    jobs = [Job(one.study.name, None, "", one) for one in results]
    return [page() for page in study_pages(pool, jobs, folder)]


@pytest.mark.slow
def test_pages_and_files_are_the_same(published, tmp_path, monkeypatch):
    results = [published(name) for name in NAMES]
    alone = made(None, results, tmp_path / "alone")
    monkeypatch.setattr(site, "MANY", 2)
    monkeypatch.setattr(site, "study_page", None)  # the others import their own
    monkeypatch.setattr(site.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    with workers(len(results)) as pool:
        beside = made(pool, results, tmp_path / "beside")
        results[1].trials.drop(columns="seconds", inplace=True)
        with pytest.raises(KeyError, match="seconds"):  # by the same processes, which take seconds to start
            made(pool, results, tmp_path / "broken")
    assert [made.page.name for made in beside] == list(NAMES)
    assert [made.page for made in beside] == [made.page for made in alone]
    files = contents(tmp_path / "alone")
    assert len(files) > 8
    assert contents(tmp_path / "beside") == files
